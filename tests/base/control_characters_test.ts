/**
 * Hidden characters are spelled out wherever a stranger's text is shown, by one list; those that belong
 * to an emoji or to a script stay.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { parse } from "yaml";
import { printable as onPage } from "../../console/page/parts/printable.ts";
import { isLatin } from "../../src/base/control_characters.ts";
import { createLog, LOG_FORMATS } from "../../src/base/log.ts";
import { printable, red, styledLine, TerminalText } from "../../src/cli/terminal_text.ts";
import { safeMarkdown } from "../../src/outbox/safe_markdown.ts";
import { toYaml } from "../../src/resources/manifest.ts";
import { screen } from "../rigs/screen.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

/** As it came, and as people see it. */
const HIDDEN: readonly (readonly [what: string, text: string, shown: string])[] = [
  ["a space without width", "pay\u200bpal", "pay\\u200bpal"],
  ["a byte order mark", "pay\ufeffpal", "pay\\ufeffpal"],
  ["a soft hyphen", "pay\u00adpal", "pay\\u00adpal"],
  ["a word joiner", "pay\u2060pal", "pay\\u2060pal"],
  ["operators that are not seen", "f\u2061\u2062\u2063\u2064x", "f\\u2061\\u2062\\u2063\\u2064x"],
  ["tags", "a\u{e0001}\u{e0061}\u{e007f}", "a\\u{e0001}\\u{e0061}\\u{e007f}"],
  ["tags behind an emoji", "🏴\u{e0069}\u{e0067}", "🏴\\u{e0069}\\u{e0067}"],
  [
    "fillers",
    "a\u115f\u1160\u3164\uffa0\u17b4\u180e\u034f",
    "a\\u115f\\u1160\\u3164\\uffa0\\u17b4\\u180e\\u034f",
  ],
  [
    "selectors that carry data",
    "a\ufe0f\ufe00\u{e0100}\u{e01ef}",
    "a\\ufe0f\\ufe00\\u{e0100}\\u{e01ef}",
  ],
  [
    "more selectors than an emoji has",
    "❤\ufe0f\ufe0f\ufe0e\ufe0f",
    "❤\ufe0f\\ufe0f\\ufe0e\\ufe0f",
  ],
  ["a digit with a selector and no key", "1\ufe0f2", "1\\ufe0f2"],
  ["a joiner in Latin", "pay\u200dpal\u200c", "pay\\u200dpal\\u200c"],
  ["a joiner behind an accent", "a\u0301\u200db", "a\u0301\\u200db"],
  ["a joiner in Han", "安\u200d全", "安\\u200d全"],
  ["a joiner between an emoji and a word", "👩\u200dx", "👩\\u200dx"],
  ["two joiners between emojis", "👩\u200d\u200d💻", "👩\\u200d\\u200d💻"],
  ["joiners where one would do", "می\u200c\u200c\u200dخ", "می\u200c\\u200c\\u200dخ"],
  ["lines of Unicode", "a\u2028b\u2029c", "a\\u2028b\\u2029c"],
  ["notes between the lines", "a\ufff9b\ufffac\ufffb", "a\\ufff9b\\ufffac\\ufffb"],
];

const SEEN: readonly (readonly [what: string, text: string])[] = [
  ["plain text", 'Fixes #1: it\'s "done" – 100 % über naïve Ångström, 審査 リリース 한국어'],
  ["a backslash", "C:\\u200b \\u{e0061}"],
  ["letters with marks", "a\u0301 e\u0308 q\u0323"],
  ["emojis of several", "👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 🏴‍☠️ ❤️‍🔥 👁️‍🗨️ 🧑🏽‍🚀 🙂‍↔️ ⛹🏽‍♂️"],
  ["emojis that say how they look", "❤️ ☎︎ ©️ 1️⃣ #️⃣ 👍🏽 🇩🇪"],
  ["Persian", "می‌خواهم خانه‌ها ه‍ PDF‌ها"],
  ["Hindi", "क्‍ष क्‌ष श्री"],
  ["Malayalam and Sinhala", "അവന്‍ ශ්‍රී"],
  ["Arabic with vowels, Hebrew", "مُحَمَّد שָׁלוֹם"],
];

/** What each place makes of a text for people. */
const PLACES: readonly (readonly [name: string, show: (text: string) => string])[] = [
  ["in the console", (text) => onPage(text)],
  ["in a line of a command", (text) => printable(text)],
  ["in the output of a task", (text) => styledLine(text).text],
  ["in an error", (text) => red(text).text.slice(5, -4)],
  ["on standard error", (text) => {
    const { io, text: written } = screen(false);
    io.err(text);
    return written.err;
  }],
];

for (const [name, show] of PLACES) {
  Deno.test(`${name}, hidden characters are spelled out`, async (t) => {
    for (const [what, text, shown] of HIDDEN) {
      await t.step(what, () => equal(show(text), shown));
    }
    for (const [what, text] of SEEN) await t.step(what, () => equal(show(text), text));
  });
}

Deno.test("Latin text has nothing to spell out but the controls of ASCII, whatever stands beside it", () => {
  const latin = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code))
    .filter((one) => one >= " " && one !== "\x7f" && isLatin(one));
  equal(latin.length > 600, true);
  equal(isLatin("caf\xe9 \u2026") && isLatin("\x1b"), true);
  for (const one of ["\x80", "\xad", "\u0301", "\u200b", "\u2028", "\u202e", "\u65e5"]) {
    equal(isLatin(one), false, JSON.stringify(one));
  }
  const text = latin.join("");
  equal(printable(`${text}\u65e5`), `${text}\u65e5`); // a character by which all hidden ones are looked for
  equal(printable(`${text}\x1b`), `${text} `);
});

Deno.test("JSON on a terminal stays JSON with the same values", () => {
  for (const [what, text] of [...HIDDEN, ...SEEN]) {
    const value = { [text]: [text, `${text}\n${text}`], plain: "x" };
    const { io, text: written } = screen(true);
    io.out(`${JSON.stringify(value, null, 2)}\n`);
    deepEqual(JSON.parse(written.out), value, what);
    equal(onPage(written.out, true), written.out, what);
  }
});

Deno.test("YAML stays YAML with the same values", () => {
  for (const [what, text] of [...HIDDEN, ...SEEN]) {
    const lines = `${text}\n  ${text}\n\n${text.repeat(30)}\r\n`;
    const value = { [text]: [text, lines, { deep: text }], "x y": text, plain: "x\ny\n" };
    const written = toYaml(value);
    deepEqual(parse(written), value, what);
    equal(onPage(written, true), written, what);
    match(written, /^plain: \|\n {2}x\n {2}y\n/m);
    const { io, text: shownThere } = screen(true);
    io.out(written);
    equal(shownThere.out, written, what);
  }
  equal(toYaml({ a: "x\u{e0061}\u200b" }), 'a: "x\\U000e0061\\u200b"\n');
  equal(toYaml({ a: "می‌خواهم 👩‍💻" }), "a: می‌خواهم 👩‍💻\n");
});

Deno.test("a line of the log has the same values, and nothing that is not seen", () => {
  const lines: string[] = [];
  const clock = new ManualClock();
  for (const format of LOG_FORMATS) {
    const log = createLog({ level: "info", format, clock, write: (line) => lines.push(line) });
    for (const [, text] of [...HIDDEN, ...SEEN]) log.info("seen", { text });
  }
  equal(onPage(lines.join("\n"), true), lines.join("\n"));
  const values = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line).text);
  deepEqual(values, [...HIDDEN, ...SEEN].map(([, text]) => text));
});

Deno.test("output of a task on a terminal keeps what belongs together, wherever chunks are cut", () => {
  for (const [what, text, shown = text] of [...HIDDEN, ...SEEN]) {
    const bytes = new TextEncoder().encode(`${text}.${text}\n`);
    for (const size of [1, 2, 3, 5, bytes.length]) {
      const terminal = new TerminalText();
      let all = "";
      for (let at = 0; at < bytes.length; at += size) {
        all += terminal.clean(bytes.subarray(at, at + size)).text;
      }
      equal(all.replaceAll("\n", ""), `${shown}.${shown}`, `${what}, ${size} bytes`);
    }
  }
});

Deno.test("bytes go to a pipe as they are", () => {
  for (const [, text] of HIDDEN) {
    const { io, text: written } = screen(false);
    io.out(text);
    equal(written.out, text);
  }
});

Deno.test("what goes to other systems keeps its characters without width", () => {
  equal(safeMarkdown("a\u200bb\u00adc @ada 👩‍💻 می‌خواهم"), "a\u200bb\u00adc @\u200bada 👩‍💻 می‌خواهم");
  equal(safeMarkdown("a\u202eb\x1b[1m"), "ab[1m");
});
