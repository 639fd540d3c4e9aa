/**
 * Lines out of pieces of several streams, cut anywhere.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { type AssembledLine, LineAssembler, MAX_LINE_BYTES } from "../../src/cli/line_assembler.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const assembly = () => new LineAssembler<string>((source) => source);
const show = (lines: readonly AssembledLine<string>[]) =>
  lines.map(({ source, at, bytes }) => [source, at, new TextDecoder().decode(bytes)]);

Deno.test("LineAssembler keeps streams apart whose pieces come mixed", () => {
  const lines = assembly();
  deepEqual(show(lines.push("a", { at: 1, bytes: bytes("one, ") })), []);
  deepEqual(show(lines.push("b", { at: 2, bytes: bytes("other\nsec") })), [["b", 2, "other\n"]]);
  deepEqual(show(lines.push("a", { at: 3, bytes: bytes("two\n") })), [["a", 1, "one, two\n"]]);
  deepEqual(show(lines.push("b", { at: 4, bytes: bytes("ond\nthird\n") })), [
    ["b", 2, "second\n"],
    ["b", 4, "third\n"],
  ]);
  deepEqual(show(lines.flush()), []);
});

Deno.test("LineAssembler gives the same lines wherever the pieces are cut", () => {
  const text = "first\n\nänder ✓ \u{1f600}\r\nno end";
  const whole = ["first\n", "\n", "änder ✓ \u{1f600}\r\n", "no end"];
  const all = bytes(text);
  for (let size = 1; size <= all.length; size++) {
    const lines = assembly();
    const found: AssembledLine<string>[] = [];
    for (let at = 0; at < all.length; at += size) {
      found.push(...lines.push("a", { at: 0, bytes: all.subarray(at, at + size) }));
    }
    found.push(...lines.flush());
    deepEqual(found.map((line) => new TextDecoder().decode(line.bytes)), whole, `size ${size}`);
  }
});

Deno.test("Lines.flush gives what has begun, and what follows is a line of its own", () => {
  const lines = assembly();
  lines.push("a", { at: 1, bytes: bytes("$ ") });
  lines.push("b", { at: 2, bytes: bytes("> ") });
  deepEqual(show(lines.flush()), [["a", 1, "$ "], ["b", 2, "> "]]);
  deepEqual(show(lines.push("a", { at: 5, bytes: bytes("ls\n") })), [["a", 5, "ls\n"]]);
});

Deno.test("LineAssembler cuts a line that has no end, and loses none of it", () => {
  const lines = assembly();
  const long = new Uint8Array(MAX_LINE_BYTES * 2 + 5).fill(0x78);
  const found = lines.push("a", { at: 1, bytes: long });
  deepEqual(found.map((line) => line.bytes.length), [MAX_LINE_BYTES, MAX_LINE_BYTES]);
  const [rest] = lines.push("a", { at: 2, bytes: bytes("\n") });
  equal(rest?.bytes.length, 6);
});
