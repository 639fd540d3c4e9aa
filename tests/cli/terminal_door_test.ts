/**
 * What texts from outside can do to a terminal: nothing, whichever command shows them. Where there
 * is no terminal they come out byte for byte.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import type { Command } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/commands/commands.ts";
import { writers } from "../../src/cli/io.ts";
import { PROGRAM, runCli } from "../../src/cli/run.ts";
import { type CommandLine, contextOf } from "../rigs/command_context.ts";
import { screen } from "../rigs/screen.ts";

/**
 * Clipboard, title, link, cursor, 8-bit forms, a line that hides its beginning, turned text, and
 * text that nobody sees.
 */
const HOSTILE = "a\x1b]52;c;cm0gLXJm\x07b\x1b]0;t\x1b\\\x1b[2J\x1b[31mc\x9b2J\x9d0;t\x9c\x7f" +
  "\rsafe\u202Ede\u2066\u2069\u200F\u061C\0" +
  "\u200B\uFEFF\u00AD\u3164\u180E\u{E0061}\u2062";

const CONTROLS = /(?![\t\n])[\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

// deno-lint-ignore no-control-regex -- what svc begins a line of a patch with
const LOOKS = /^\x1b\[(?:1|3[126])m/gm;

/** What svc itself does: a red word, its end, a line that it clears, and looks of whole lines. */
function withoutOwn(text: string): string {
  return text.replaceAll("\x1b[31merror:\x1b[0m", "").replaceAll("\r\x1b[K", "")
    .replaceAll("\x1b[0m", "").replace(LOOKS, "");
}

interface Shown extends CommandLine {
  readonly words: string;
  readonly answer?: unknown;
  readonly lines?: readonly unknown[];
}

async function show({ words, answer, lines = [], ...line }: Shown, isTerminal: boolean) {
  const { io, text } = screen(isTerminal);
  const command = await commandOf(words);
  const context = contextOf(command, io, line);
  const client = {
    call: () => Promise.resolve(answer),
    async *stream() {
      yield* lines;
    },
    [Symbol.dispose]: () => {},
  };
  Object.assign(context, { client: () => client });
  Object.assign(io, { onStop: () => ({ [Symbol.dispose]() {} }) });
  await command.run(context, PROGRAM);
  return text;
}

async function commandOf(words: string): Promise<Command> {
  const entry = COMMANDS.find((one) => one.words === words);
  if (entry === undefined) throw new Error(`No command "${words}"`);
  return (await entry.load()).command;
}

const RECORD = { id: HOSTILE, reason: HOSTILE, [HOSTILE]: [HOSTILE, { deep: HOSTILE }] };
const LISTING = {
  items: [RECORD],
  names: [`task/${HOSTILE}`],
  columns: [{ header: HOSTILE, wide: false }],
  rows: [[HOSTILE]],
};
const file = await Deno.makeTempFile({ suffix: ".yaml" });
globalThis.addEventListener("unload", () => Deno.removeSync(file));
const APPLIED = {
  results: [{ name: HOSTILE, project: HOSTILE, action: "created" }],
  warnings: [HOSTILE],
  hook_failures: [`one: ${HOSTILE}\nand more`],
};
const EXPLAINED = {
  delivery: { ...RECORD, trigger: HOSTILE, outcome: HOSTILE, remote: HOSTILE },
  stages: [{ stage: HOSTILE, after_ms: 1 }],
  authentication: HOSTILE,
  condition: HOSTILE,
  events: [{ outcome: HOSTILE, reason: HOSTILE, task_id: HOSTILE, parts: [] }],
  diagnoses: [{ cause: HOSTILE, message: HOSTILE }],
  advice: [HOSTILE],
  ended_waits: [{ task_id: HOSTILE, step: HOSTILE }],
  missed_waits: [{ task_id: HOSTILE, step: HOSTILE, why: HOSTILE }],
};

const SANDBOX = {
  name: HOSTILE,
  project: HOSTILE,
  fault: { why: HOSTILE, cure: HOSTILE },
  machine: [HOSTILE],
  paths: [{ written: HOSTILE, path: HOSTILE, access: "read", exists: true, refused: HOSTILE }],
  home: HOSTILE,
  scratch: [HOSTILE],
  scratch_bytes: 1,
  network: {
    mode: "rules",
    allow: [HOSTILE],
    inject: [{ url: HOSTILE, env: HOSTILE, headers: [HOSTILE], paths: [HOSTILE] }],
  },
  limits: { memory: HOSTILE, pids: null, cpu: null, fault: { why: HOSTILE, cure: HOSTILE } },
  nested: false,
  control: true,
  absent: { data_dir: HOSTILE, socket: HOSTILE, home: HOSTILE },
};

const CASES: readonly Shown[] = [
  ...["table", "wide", "json", "yaml", "name"].map((output) => ({
    words: "get",
    positional: ["task"],
    options: { output },
    answer: LISTING,
  })),
  ...["json", "yaml"].map((output) => ({
    words: "describe",
    positional: ["task", "x"],
    options: { output },
    answer: RECORD,
  })),
  ...["text", "json"].flatMap((output) => [
    { words: "apply", options: { output, filename: [file] }, answer: APPLIED },
    {
      words: "delete",
      positional: ["trigger", ["x"]],
      options: { output },
      answer: { deleted: [HOSTILE], warnings: [HOSTILE], hook_failures: [HOSTILE] },
    },
    {
      words: "delete",
      positional: ["task", ["x"]],
      options: { output, yes: true },
      answer: { deleted: [HOSTILE], kept_by: [`task/${HOSTILE}`], warnings: [HOSTILE] },
    },
    { words: "sandbox show", positional: ["x"], options: { output }, answer: SANDBOX },
    { words: "delivery explain", positional: ["x"], options: { output }, answer: EXPLAINED },
    {
      words: "delivery redeliver",
      positional: ["x"],
      options: { output },
      lines: [
        { delivery_id: HOSTILE, error: HOSTILE },
        { delivery_id: "A", outcome: HOSTILE, new_delivery_id: "B", reason: HOSTILE },
      ],
    },
    {
      words: "outbox show",
      positional: ["x"],
      options: { output, diff: true },
      answer: { items: [{ ...RECORD, state: "held", body: { title: HOSTILE, files: 1 } }] },
      lines: [{
        text: `diff --git a/${HOSTILE} b/${HOSTILE}\n@@ -1 +1 @@\n-${HOSTILE}\n+${HOSTILE}\n`,
      }],
    },
    ...output === "json" ? [] : [{
      words: "conversation bind",
      positional: ["x", "x", "x"],
      options: { output },
      answer: { name: HOSTILE, key: HOSTILE, task_id: HOSTILE, before: HOSTILE + HOSTILE },
    }],
    {
      words: "audit verify",
      options: { output },
      answer: { rows: 1, faults: [HOSTILE] },
    },
  ]),
];

for (const one of CASES) {
  const name = `svc ${one.words} -o ${one.options?.["output"]}`;
  Deno.test(`${name}: no text drives a terminal`, async () => {
    const { out, err } = await show(one, true);
    equal(CONTROLS.exec(withoutOwn(out)), null, JSON.stringify(out));
    equal(CONTROLS.exec(withoutOwn(err)), null, JSON.stringify(err));
    match(out + err, /safe/);
  });

  if (one.options?.["output"] !== "json") continue;
  Deno.test(`${name}: the same values to a terminal and to a pipe`, async () => {
    const [terminal, pipe] = [await show(one, true), await show(one, false)];
    deepEqual(JSON.parse(terminal.out), JSON.parse(pipe.out));
    equal(pipe.out.includes("\x9b2J"), true, "as it is");
    equal(pipe.out, `${JSON.stringify(JSON.parse(pipe.out), null, 2)}\n`);
    equal(CONTROLS.exec(pipe.err), null, JSON.stringify(pipe.err));
  });
}

for (const isTerminal of [true, false]) {
  Deno.test(`an error shows no control character of what it names, terminal: ${isTerminal}`, async () => {
    const wrong = [
      [HOSTILE],
      ["get", "task", `--${HOSTILE}`],
      ["apply", "-f", `/nonexistent/${HOSTILE}`],
      ["get", "task", "--since", HOSTILE],
      ["get", "task", "--data-dir", `/nonexistent/${HOSTILE}`],
    ];
    for (const args of wrong) {
      const { io, text } = screen(isTerminal);
      notEqualZero(await runCli(args, io));
      equal(CONTROLS.exec(withoutOwn(text.err)), null, JSON.stringify(text.err));
      equal(text.err.includes("\x1b[31merror:\x1b[0m "), isTerminal, text.err);
    }
  });
}

function notEqualZero(code: number): void {
  equal(code === 0, false);
}

Deno.test("bytes come out as they are, and as text on a terminal", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const [pipe, terminal] = [screen(false), screen(true)];
  pipe.io.out(bytes);
  deepEqual(pipe.text.bytes, [...bytes]);
  terminal.io.out(new TextEncoder().encode("a\r\nb\tc\x1b[1m"));
  equal(terminal.text.out, "a\nb\tc\\u001b[1m");
});

Deno.test("a stream that takes a few bytes at a time gets all of them", () => {
  const taken: number[] = [];
  const slow = {
    writeSync(data: Uint8Array) {
      taken.push(...data.subarray(0, 3));
      return Math.min(3, data.length);
    },
  };
  writers({ stdout: slow, stderr: slow, outIsTerminal: false }).out("0123456789");
  equal(new TextDecoder().decode(Uint8Array.from(taken)), "0123456789");
});
