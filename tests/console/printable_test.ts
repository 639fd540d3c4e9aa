import { deepStrictEqual as deepEqual, ok as assert } from "node:assert/strict";
import { cut, pieces, printable, slices } from "../../console/page/parts/printable.ts";

const ROWS: readonly (readonly [what: string, text: string, shown: string])[] = [
  ["plain text", 'a <b>bold</b> & "quoted"', 'a <b>bold</b> & "quoted"'],
  [
    "a link of a terminal",
    "\x1b]8;;https://x.example\x07here",
    "\\u001b]8;;https://x.example\\u0007here",
  ],
  ["a line turned round", "user\u202egpj.exe\u202c", "user\\u202egpj.exe\\u202c"],
  ["isolates of direction", "\u2066a\u2069\u200e\u061c", "\\u2066a\\u2069\\u200e\\u061c"],
  ["halves of surrogates", "a\ud800b\udc00", "a\\ud800b\\udc00"],
  ["a whole character beside a half", "\ud83d\ude00\ud83d", "😀\\ud83d"],
  ["no width", "pass\u200bword\ufeff\u2060\u00ad", "pass\\u200bword\\ufeff\\u2060\\u00ad"],
  ["hidden tags", "a\u{e0061}", "a\\u{e0061}"],
  ["selectors that carry data", "a\ufe01\u{e0100}", "a\\ufe01\\u{e0100}"],
  ["separators of lines", "a\u2028b\u2029", "a\\u2028b\\u2029"],
  ["fillers that look like nothing", "\u3164\uffa0", "\\u3164\\uffa0"],
  ["line ends within a line", "a\r\nb\tc\0", "a\\r\\nb\\tc\\u0000"],
  ["C1", "a\u009b31m", "a\\u009b31m"],
  ["an emoji of several", "👩‍💻 ❤️ 👍🏽 1️⃣", "👩‍💻 ❤️ 👍🏽 1️⃣"],
  ["a script that joins", "می‌خواهم", "می‌خواهم"],
  ["a joiner where nothing joins", "pay\u200dpal", "pay\\u200dpal"],
];

Deno.test("invisible characters in an untrusted text are spelled out", async (t) => {
  for (const [what, text, shown] of ROWS) {
    await t.step(what, () => deepEqual(printable(text), shown));
  }
});

Deno.test("A text of lines keeps its lines and tabs, however they end", () => {
  deepEqual(printable("a\r\nb\n\tc\rd\x1b[1m", true), "a\nb\n\tc\\rd\\u001b[1m");
  deepEqual(pieces("\x1b\x07a\n", true), [
    { text: "\\u001b\\u0007", isSpelled: true },
    { text: "a\n", isSpelled: false },
  ]);
});

Deno.test("Cutting a text halves no character and loses nothing", () => {
  deepEqual(cut("ab😀", 3), "ab");
  deepEqual(cut("ab😀", 4), "ab😀");
  for (const text of ["😀".repeat(999), "line\n".repeat(999), "x".repeat(5000), ""]) {
    const found = slices(text, 101);
    deepEqual(found.join(""), text);
    assert(found.every((slice) => slice.length <= 101 && slice.isWellFormed()));
  }
  assert(slices("line\n".repeat(99), 101).every((slice) => slice.endsWith("\n")));
});
