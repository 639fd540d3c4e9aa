/**
 * Texts are measured as `string-width` measures them, whether it is loaded for them or not.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import stringWidth from "string-width";
import { textWidthFor } from "../../src/cli/text_width.ts";

/** Characters of one column; whatever is measured with them needs no tables of Unicode. */
const LATIN = await textWidthFor([]);

Deno.test("each character of Latin takes one column, alone and beside each other one", async () => {
  const simple: string[] = [];
  for (let code = 0x20; code < 0x3000; code++) {
    const character = String.fromCharCode(code);
    if (character !== "\x7f" && await textWidthFor([character]) === LATIN) simple.push(character);
  }
  for (const text of ["Zoë", "naïve – “quoted” …", "a·b «c» ±1", "don’t", "• 10 µs × 2"]) {
    equal(await textWidthFor([text]), LATIN, text);
  }
  const all = simple.join("");
  equal(stringWidth(all), all.length);
  for (const one of simple) {
    equal(stringWidth(one), 1, one);
    // An anchor at either side shows characters that would join with their neighbour.
    const pairs = simple.map((other) => one + other).join("");
    equal(stringWidth(pairs), pairs.length, one);
  }
  deepEqual([...LATIN.characters("a…é")], ["a", "…", "é"]);
});

const WIDE: readonly string[] = [
  "\u00ad",
  "e\u0301",
  "日本語",
  "ﾊﾟ",
  "한국어",
  "👩‍👩‍👧‍👦",
  "🇩🇪🇯🇵",
  "☺️ ☺",
  "1️⃣",
  "ภาษาไทย",
  "हिन्दी",
  "العربية",
  "\u200bx\ufeff",
  "\u2028",
  "→ ≥ ✓",
];

Deno.test("any other text is measured by string-width, with all texts that it stands among", async () => {
  for (const text of WIDE) {
    const width = await textWidthFor(["plain", text]);
    equal(width.of(text), stringWidth(text), JSON.stringify(text));
    equal(width.of("plain"), 5);
  }
  const { characters } = await textWidthFor(WIDE);
  deepEqual([...characters("👩‍👩‍👧‍👦e\u0301x")], ["👩‍👩‍👧‍👦", "e\u0301", "x"]);
});
