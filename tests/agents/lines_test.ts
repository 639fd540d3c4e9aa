/**
 * Lines of what an agent prints, whatever its chunks are and however long a line is.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { findAdapter } from "../../src/agents/adapters.ts";
import { AgentReader } from "../../src/agents/agent_reader.ts";
import { type Line, LineSplitter, MAX_LINE_BYTES } from "../../src/agents/lines.ts";
import { utf8 } from "../../src/base/bytes.ts";

function split(chunks: readonly Uint8Array[]): Line[] {
  const splitter = new LineSplitter();
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.flush()];
}

const text = (...lines: readonly string[]) => lines.map((line) => ({ text: line }));

Deno.test("lines come whole from chunks that are cut anywhere", () => {
  const bytes = utf8('{"a":"é😀"}\r\n\nlast');
  const expected = text('{"a":"é😀"}', "", "last");
  for (let size = 1; size <= bytes.length; size++) {
    const chunks = Array.from(
      { length: Math.ceil(bytes.length / size) },
      (_, n) => bytes.slice(n * size, (n + 1) * size),
    );
    deepEqual(split(chunks), expected);
  }
});

Deno.test("a chunk may be used again after it was given", () => {
  const splitter = new LineSplitter();
  const chunk = utf8("abc");
  splitter.push(chunk);
  chunk.fill(0);
  deepEqual(splitter.push(utf8("d\n")), text("abcd"));
});

Deno.test("bytes that are no UTF-8 do not end a line", () => {
  deepEqual(split([new Uint8Array([0x61, 0xff, 0xc3, 0x0a, 0x62])]), text("a\uFFFD\uFFFD", "b"));
});

Deno.test("a line of the longest length is whole, a longer one is only counted", () => {
  const longest = utf8("x".repeat(MAX_LINE_BYTES));
  deepEqual(split([longest, utf8("\n")]), text("x".repeat(MAX_LINE_BYTES)));
  deepEqual(split([longest, utf8("yz\nnext\n")]), [
    { tooLong: MAX_LINE_BYTES + 2 },
    { text: "next" },
  ]);
});

Deno.test("a line of 100 MB takes no memory, and the events after it count", () => {
  const reader = new AgentReader(findAdapter("claude"), () => 0);
  const chunk = new Uint8Array(64 * 1024).fill(0x78);
  let most = 0;
  reader.readOutput(utf8('{"type":"assistant","message":{"content":[{"type":"text","text":"'));
  const before = Deno.memoryUsage().external;
  for (let n = 0; n < 1600; n++) {
    equal(reader.readOutput(chunk), "");
    most = Math.max(most, Deno.memoryUsage().external - before);
  }
  equal(most < 16 * 1024 * 1024, true, `${most} bytes`);
  const shown = reader.readOutput(utf8('"}]}}\n{"type":"result","result":"end"}\n'));
  equal(shown, "[svc: a line of 104857670 bytes is not shown]\n");
  equal(reader.facts.outputs["result"], "end");
});

Deno.test("half an event at the end is shown as it is", () => {
  const reader = new AgentReader(findAdapter("claude"), () => 0);
  equal(reader.readOutput(utf8('{"type":"result","resu')), "");
  equal(reader.end(), '{"type":"result","resu\n');
  deepEqual(reader.facts.outputs, {});
});

Deno.test("an agent that prints nothing has no facts", () => {
  const reader = new AgentReader(findAdapter("codex"), () => 0);
  deepEqual([reader.end(), reader.facts.outputs, reader.failure(1)], ["", {}, undefined]);
});
