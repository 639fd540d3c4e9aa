/**
 * `svc completions`: the scripts do what they should in the shells themselves, those that are
 * there.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { command } from "../../src/cli/commands/completions.ts";
import type { Client } from "../../src/api/client.ts";
import { entryOf, inFull } from "../../src/cli/command_words.ts";
import { LISTED } from "../../src/cli/commands/commands.ts";
import {
  candidates,
  completedArgument,
  completedOption,
  cursorAt,
} from "../../src/cli/completion.ts";
import type { Io } from "../../src/cli/io.ts";
import { PROGRAM } from "../../src/cli/run.ts";
import { get } from "../../src/control/resources/queries.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { contextOf } from "../rigs/command_context.ts";

async function script(shell: string): Promise<string> {
  let text = "";
  const io = { out: (data: string) => text += data } as unknown as Io;
  await command.run(contextOf(command, io, { positional: [shell] }), PROGRAM);
  return text;
}

async function run(program: string, args: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await new Deno.Command(program, { args: [...args] }).output();
  equal(new TextDecoder().decode(stderr), "");
  equal(code, 0);
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
}

const DIR = import.meta.dirname ?? "";

/** What stands on the command line, the word under the cursor last; and what completes it. */
const CASES: readonly { words: readonly string[]; gives: readonly string[] }[] = [
  { words: ["ta"], gives: ["task"] },
  {
    words: ["task", ""],
    gives: [
      "logs",
      "plan",
      "cancel",
      "continue",
      "approve",
      "reject",
      "retry",
      "wait",
      "inbox",
      "workspace",
    ],
  },
  { words: ["task", "c"], gives: ["cancel", "continue"] },
  { words: ["tool", "p"], gives: ["payload-extract"] },
  { words: ["get", "-o", ""], gives: ["table", "wide", "json", "yaml", "name"] },
  { words: ["get", "--output", "j"], gives: ["json"] },
  { words: ["get", "-p", "task", "--output", "w"], gives: ["wide"] },
  { words: ["task", "logs", "-o", ""], gives: ["text", "json"] },
  { words: ["daemon", "--log-level", "w"], gives: ["warn"] },
  { words: ["get", "trig"], gives: ["triggers"] },
  { words: ["get", "-p", "shop", "trig"], gives: ["triggers"] },
  { words: ["schema", "Work"], gives: ["Workflow", "Workspace"] },
  { words: ["integration", ""], gives: ["list", "show", "install", "uninstall"] },
  { words: ["integration", "install", "s"], gives: ["slack"] },
  { words: ["completions", ""], gives: ["bash", "zsh", "fish"] },
  { words: ["apply", "-f", `${DIR}/completions_t`], gives: [`${DIR}/completions_test.ts`] },
  { words: ["apply", "--d"], gives: ["--dry-run", "--data-dir"] },
  { words: ["get", "--outcome", "rej"], gives: ["rejected"] },
  { words: ["logs", "--state", "s"], gives: ["succeeded"] },
  { words: ["lo"], gives: ["logs"] },
  { words: ["trigger", "test", "--header", ""], gives: [] },
  { words: ["nonsense", "ta"], gives: [] },
];

Deno.test("svc completions bash completes in bash", async (t) => {
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, await script("bash"));
  const complete = (words: readonly string[]) =>
    run("bash", [
      "-c",
      `source "$0"; COMP_WORDS=(svc "$@"); COMP_CWORD=$#; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`,
      file,
      ...words,
    ]);
  for (const { words, gives } of CASES) {
    await t.step(words.join(" "), async () => {
      deepEqual((await complete(words)).sort(), gives.toSorted());
    });
  }
  await t.step("--output=j, which bash splits in three", async () => {
    deepEqual(await complete(["get", "--output", "=", "j"]), ["json"]);
    deepEqual(await complete(["get", "--output", "="]), [
      "table",
      "wide",
      "json",
      "yaml",
      "name",
    ]);
  });
  await t.step("a first argument is given once", async () => {
    deepEqual(await complete(["get", "triggers", "trig"]), []);
    deepEqual(await complete(["get", "--output", "=", "json", "trig"]), ["triggers"]);
  });
  await t.step("file names with blanks stay whole", async () => {
    const dir = await Deno.makeTempDir();
    await Deno.writeTextFile(`${dir}/my file.yaml`, "");
    deepEqual(await complete(["apply", "-f", `${dir}/my`]), [`${dir}/my file.yaml`]);
    await Deno.remove(dir, { recursive: true });
  });
  await Deno.remove(file);
});

Deno.test({
  ...skippable("svc completions zsh completes in zsh", missing("zsh")),
  async fn() {
    const file = await Deno.makeTempFile();
    await Deno.writeTextFile(file, await script("zsh"));
    const stub = 'compdef() { :; }; _arguments() { print -rl -- $CURRENT "$@"; }; source "$0"; ' +
      'words=(svc "$@"); CURRENT=$#words; _svc';
    const [current, ...specs] = await run("zsh", ["-fc", stub, file, "task", "logs", "-o", ""]);
    equal(current, "3");
    ok(
      specs.includes("(-o --output)-o[how to print; json is one line per chunk]:value:(text json)"),
    );
    match((await run("zsh", ["-fc", stub, file, ""])).at(-1) ?? "", /^1:what:\(\(init\\:"make/);
    await Deno.remove(file);
  },
});

Deno.test({
  ...skippable("svc completions fish completes in fish", missing("fish")),
  async fn(t) {
    const file = await Deno.makeTempFile();
    await Deno.writeTextFile(file, await script("fish"));
    for (const { words, gives } of CASES) {
      await t.step(words.join(" "), async () => {
        const line = `source ${file}; complete -C 'svc ${words.join(" ")}'`;
        const found = (await run("fish", ["-Nc", line])).map((one) => one.split("\t")[0]);
        deepEqual(found.sort(), gives.toSorted());
      });
    }
    await Deno.remove(file);
  },
});

Deno.test("every script names every command and every long option", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const text = await script(shell);
    for (const { words, load } of LISTED) {
      for (const word of words.split(" ")) ok(text.includes(word), `${shell}: ${word}`);
      for (const { flags } of (await load()).command.options ?? []) {
        const name = /--([\w-]+)/.exec(flags)?.[1] ?? "";
        ok(text.includes(name), `${shell}: ${words} --${name}`);
      }
    }
  }
});

Deno.test("svc get completes exactly the words that get understands", async () => {
  const line = (await script("bash")).split("\n").find((one) => one.includes("'get') list="));
  const offered = /list='([^']*)'/.exec(line ?? "")?.[1]?.split(" ");
  const parts = { catalog: new Catalog(), clock: { now: () => 0 } };
  const host = parts as unknown as Parameters<typeof get>[1];
  await rejects(get({ what: "nonsense" }, host), (error: Error) => {
    deepEqual(offered, /use one of (.*)$/.exec(error.message)?.[1]?.split(", "));
    return true;
  });
});

/** What `svc complete` would print, of a daemon that knows these. */
async function completed(words: readonly string[]): Promise<string[]> {
  const full = inFull(words);
  const entry = entryOf(full, LISTED);
  const rest = full.slice(entry?.words.split(" ").length);
  const asked = (await entry?.load())?.command ?? command;
  const items: Record<string, { name: string; item: Record<string, unknown> }[]> = {
    trigger: [{ name: "trigger/now", item: {} }, { name: "trigger/nightly", item: {} }],
    task: [{ name: "task/01A", item: { trigger: "now", state: "failed" } }],
  };
  const client = {
    call: (operation: string, { what = "", name = "" }: { what?: string; name?: string }) => {
      if (operation === "describe") return { spec: { data: { [`key_of_${name}`]: "***" } } };
      if (operation === "task") return { steps: [{ id: "build", state: "failed" }] };
      const found = items[what] ?? [];
      return { items: found.map(({ item }) => item), names: found.map((one) => one.name) };
    },
  } as unknown as Client;
  const { signal } = new AbortController();
  return (await candidates(cursorAt(rest, asked), { client, signal }))
    .map(({ value, about }) => about === "" ? value : `${value} (${about})`);
}

Deno.test("names, ids, keys and steps complete where a command takes them", async () => {
  const triggers = ["now", "nightly"];
  const tasks = ["latest (now failed)", "01A (now failed)"];
  const cases: readonly [string, readonly string[]][] = [
    ["trigger fire ", triggers],
    ["trigger fire ni", ["nightly"]],
    ["get trigger ", triggers],
    ["get trigger now ", triggers],
    ["get trigger/ni", ["trigger/nightly"]],
    ["get -o json --trigger ", triggers],
    ["logs ", tasks],
    ["logs --trigger=no", ["now"]],
    ["logs --trigger = no", ["now"]],
    ["logs -f --tail 3 ", tasks],
    ["task cancel 01A 0", ["01A (now failed)"]],
    ["describe task ", tasks],
    ["task logs 01A --step ", ["build (failed)"]],
    ["secret set github ", ["key_of_github"]],
    ["tool secret-rotate github --remove k", ["key_of_github"]],
    ["tool sign --secret-ref stripe --key ", ["key_of_stripe"]],
    ["logs --since ", []],
    ["version ", []],
    ["get unknown ", []],
  ];
  for (const [line, gives] of cases) deepEqual(await completed(line.split(" ")), gives, line);
});

Deno.test("every argument and option that takes a name or an id says what completes it", async () => {
  const named = /<(task|delivery|trigger|store|project|event)>/;
  for (const { words, load } of LISTED) {
    const { command } = await load();
    for (const [at, { name }] of (command.arguments ?? []).entries()) {
      if (!named.test(name)) continue;
      ok(completedArgument(command, at) !== undefined, `svc ${words} ${name}`);
    }
    for (const option of command.options ?? []) {
      if (!/--(trigger|project|workflow|state|outcome|secret-ref)\b/.test(option.flags)) continue;
      ok(completedOption(option) !== undefined, `svc ${words} ${option.flags}`);
    }
  }
});

Deno.test("bash asks svc for names and ids, and shows what they are where there are several", async () => {
  const dir = await Deno.makeTempDir();
  await Deno.writeTextFile(`${dir}/c`, await script("bash"));
  await Deno.writeTextFile(
    `${dir}/svc`,
    '#!/bin/sh\n[ "$*" = "complete -- logs --tail 3 0" ] || exit 1\n' +
      "printf '01A\\tnow failed\\n01B\\tnow running\\n'\n",
    { mode: 0o755 },
  );
  const complete = (type: number, ...words: readonly string[]) =>
    run("bash", [
      "-c",
      `PATH="$0:$PATH"; source "$0/c"; COMP_TYPE=${type}; COMP_WORDS=(svc "$@"); COMP_CWORD=$#; ` +
      `_svc; printf '%s\\n' "\${COMPREPLY[@]}"`,
      dir,
      ...words,
    ]);
  const words = ["logs", "--tail", "3", "0"];
  deepEqual(await complete(63, ...words), ["01A  -- now failed", "01B  -- now running"]);
  deepEqual(await complete(37, ...words), ["01A", "01B"], "menu completion inserts them whole");
  deepEqual(await complete(63, "logs", "x"), [], "silent where svc fails");
  await Deno.remove(dir, { recursive: true });
});

Deno.test("svc completions refuses a shell it does not know", async () => {
  for (const shell of ["tcsh", "", "constructor"]) {
    await rejects(script(shell), { code: "usage", message: /use one of bash, zsh, fish$/ });
  }
});
