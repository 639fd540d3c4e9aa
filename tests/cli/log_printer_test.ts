/**
 * Output of tasks as people see it: line starts, chunk borders, and what a terminal gets of it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { toBase64 } from "../../src/base/bytes.ts";
import { type LineStart, LogPrinter } from "../../src/cli/log_printer.ts";
import { screen } from "../rigs/screen.ts";

type Chunk = readonly [
  step: string,
  stream: "out" | "err" | "svc",
  text: string | Uint8Array,
  at?: number,
];

const NOON = Date.UTC(2026, 0, 2, 12);

/** What is printed of these chunks on standard output. */
function printed(...given: Parameters<typeof written>): string {
  return written(...given).out;
}

function written(
  chunks: readonly Chunk[],
  start: Partial<LineStart> = {},
  outIsTerminal = false,
) {
  const { io, text } = screen(outIsTerminal);
  const printer = new LogPrinter(io, { prefix: false, timestamps: false, ...start });
  for (const [step, stream, chunk, at = 0] of chunks) {
    const data = typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk;
    const time = `2026-01-02T12:00:00.${String(at).padStart(3, "0")}Z`;
    printer.print({ at: time, step, stream, data: toBase64(data) });
  }
  printer.end();
  return text;
}

Deno.test("svc task logs prints bytes as they came", () => {
  const chunks: Chunk[] = [["a", "out", "one "], ["b", "err", "x\n"], ["a", "out", "\x1b[31mtwo"]];
  equal(printed(chunks), "one x\n\x1b[31mtwo");
});

Deno.test("svc task logs --prefix: every line has its step, and streams do not mix in a line", () => {
  const chunks: Chunk[] = [
    ["build", "out", "compi"],
    ["test", "out", "ok 1\nok"],
    ["build", "err", "warning\n"],
    ["build", "out", "ling\n\ndone"],
    ["test", "out", " 2\n"],
  ];
  equal(
    printed(chunks, { prefix: true }),
    "[test] ok 1\n[build] warning\n[build] compiling\n[build] \n[test] ok 2\n[build] done\n",
  );
});

Deno.test("svc task logs: what svc says goes to standard error, on lines of its own", () => {
  const chunks: Chunk[] = [
    ["a", "out", "no break"],
    ["a", "svc", "[svc: one]\n"],
    ["a", "out", "broken\n"],
    ["a", "svc", "[svc: \x1b[2Jtwo]\n"],
  ];
  const plain = written(chunks);
  deepEqual([plain.out, plain.err], [
    "no breakbroken\n",
    "\n[svc: one]\n[svc: \\u001b[2Jtwo]\n",
  ]);
  const prefixed = written(chunks, { prefix: true });
  deepEqual([prefixed.out, prefixed.err], [
    "[a] no break\n[a] broken\n",
    "[a] [svc: one]\n[a] [svc: \\u001b[2Jtwo]\n",
  ]);
});

Deno.test("svc task logs --timestamps: the time at which a line began", () => {
  equal(NOON, Date.parse("2026-01-02T12:00:00Z"));
  const chunks: Chunk[] = [["a", "out", "one", 1], ["b", "out", "two\n", 2], [
    "a",
    "out",
    "!\n",
    3,
  ]];
  equal(
    printed(chunks, { timestamps: true }),
    "2026-01-02T12:00:00.002Z two\n2026-01-02T12:00:00.001Z one!\n",
  );
  equal(
    printed([["a", "out", "x\n"]], { timestamps: true, prefix: true }),
    "[a] 2026-01-02T12:00:00.000Z x\n",
  );
});

Deno.test("svc task logs --prefix keeps characters that a chunk cuts in two", () => {
  const text = new TextEncoder().encode("é✓\u{1f600}\n");
  const chunks = [...text].map((byte): Chunk => ["a", "out", Uint8Array.of(byte)]);
  const mixed = chunks.flatMap((chunk): Chunk[] => [chunk, ["b", "out", "."]]);
  equal(printed(mixed, { prefix: true }), `[a] é✓\u{1f600}\n[b] ${".".repeat(text.length)}\n`);
});

const HOSTILE =
  "a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\link\x1b[2Jc\x1b[31mred\x1b[0m\x1bPq#0\x1b\\d\x07\x9be\n";
const HARMLESS = "ablinkc\x1b[31mred\x1b[0mde\n";

Deno.test("svc task logs on a terminal: colours stay, whatever else would drive it goes", () => {
  equal(printed([["a", "out", HOSTILE]], {}, true), `${HARMLESS}\x1b[0m`);
  equal(
    printed([["a", "out", HOSTILE]], { prefix: true }, true),
    `[a] ${HARMLESS.slice(0, -1)}\x1b[0m\n\x1b[0m`,
  );
  equal(printed([["a", "out", HOSTILE]]), HOSTILE);
});

Deno.test("svc task logs on a terminal: the same wherever the chunks are cut", () => {
  const all = new TextEncoder().encode(HOSTILE);
  for (let size = 1; size < 12; size++) {
    const chunks = Array.from(
      { length: Math.ceil(all.length / size) },
      (_, i): Chunk[] => [["a", "out", all.slice(i * size, i * size + size)], ["b", "err", "~"]],
    );
    const text = printed(chunks.flat(), {}, true);
    equal(text.replaceAll("~", ""), `${HARMLESS}\x1b[0m`, `size ${size}`);
  }
});

Deno.test("svc task logs on a terminal: an escape that never ends does not hold up the rest", () => {
  const text = printed([["a", "out", `\x1b]0;${"x".repeat(5000)}`], ["a", "out", "y\n"]], {}, true);
  equal(text.endsWith("y\n\x1b[0m"), true);
  equal(text.replace("\x1b[0m", "").includes("\x1b"), false);
});

Deno.test("svc task logs on a terminal: no line hides another, and none looks like another", () => {
  const all = "1 %\r2 %\r\nrm -rf x\rls\n\u202Esecalp gnignahc\u2066\u200F\n";
  const shown = "1 %\n2 %\nrm -rf x\nls\nsecalp gnignahc\n\x1b[0m";
  equal(printed([["a", "out", all]], {}, true), shown);
  const bytes = [...new TextEncoder().encode(all)];
  equal(printed(bytes.map((byte) => ["a", "out", Uint8Array.of(byte)]), {}, true), shown);
  equal(
    printed([["a", "out", all]], { prefix: true }, true),
    "[a] 1 % 2 %\n[a] rm -rf x ls\n[a] secalp gnignahc\n\x1b[0m",
  );
  equal(printed([["a", "out", all]]), all);
});
