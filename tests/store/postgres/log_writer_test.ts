/**
 * How a writer of a log makes blocks of what it is given, and what it does while the database takes
 * none: it keeps a part, then lets the steps wait, and gives nothing twice.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { utf8 } from "../../../src/base/bytes.ts";
import { BlockWriter } from "../../../src/store/postgres/logs/log_writer.ts";
import { ManualClock } from "../../helpers/manual_clock.ts";

/** A database that keeps blocks in memory. */
class Blocks {
  readonly clock = new ManualClock();
  readonly stopping = new AbortController();
  /** When each block came, and where it stands. */
  readonly added: { readonly at: number; readonly position: number; readonly text: string }[] = [];
  /** How many blocks were handed over together, whatever came of them. */
  readonly calls: number[] = [];
  /** What it says to blocks; `true` takes them. */
  answer: boolean | Error = true;
  told = 0;
  readonly writer = new BlockWriter({
    clock: this.clock,
    stop: this.stopping.signal,
    onWritten: () => this.told++,
    findEnd: () => Promise.resolve(100),
    add: (blocks) => {
      this.calls.push(blocks.length);
      if (this.answer instanceof Error) return Promise.reject(this.answer);
      for (const { position, bytes } of this.answer ? blocks : []) {
        const text = new TextDecoder().decode(bytes);
        this.added.push({ at: this.clock.monotonicMs(), position, text });
      }
      return Promise.resolve(this.answer);
    },
  });

  get text(): string {
    return this.added.map(({ text }) => text).join("");
  }
}

const AWAY = new Error("away");

Deno.test("what comes first is stored at once, what comes within a moment after it together", async () => {
  const { writer, clock, added } = new Blocks();
  for (const line of ["one\n", "two\n", "three\n"]) {
    await writer.append(utf8(line));
    await clock.advance(50);
  }
  await clock.advance(1000);
  await writer.append(utf8("late\n"));
  await writer[Symbol.asyncDispose]();
  deepEqual(added, [
    { at: 0, position: 100, text: "one\n" },
    { at: 200, position: 104, text: "two\nthree\n" },
    { at: 1150, position: 114, text: "late\n" },
  ]);
});

Deno.test("a full block waits for nothing, and has no more than it should", async () => {
  const blocks = new Blocks();
  const line = `${"x".repeat(999)}\n`;
  for (let n = 0; n < 200; n++) await blocks.writer.append(utf8(line));
  await blocks.clock.advance(0);
  const sizes = blocks.added.map(({ text }) => text.length);
  deepEqual(sizes, [1000, 65_000, 65_000, 65_000]);
  await blocks.writer[Symbol.asyncDispose]();
  equal(blocks.text, line.repeat(200));
  equal(blocks.told, blocks.calls.length);
});

Deno.test("a line that is longer than a block is one", async () => {
  const blocks = new Blocks();
  const long = `${"x".repeat(10_000_000)}\n`;
  for (const line of ["a\n", long, "b\n"]) await blocks.writer.append(utf8(line));
  await blocks.writer[Symbol.asyncDispose]();
  deepEqual(blocks.added.map(({ text }) => text.length), [2, long.length, 2]);
});

Deno.test("while the database is away a mebibyte is kept, then the step waits; nothing is lost", async () => {
  const blocks = new Blocks();
  blocks.answer = AWAY;
  const line = `${"x".repeat(9_999)}\n`;
  let given = 0;
  const printing = (async () => {
    for (; given < 400; given++) await blocks.writer.append(utf8(line));
    await blocks.writer[Symbol.asyncDispose]();
  })();
  await blocks.clock.advance(60_000);
  ok(given > 100 && given < 110, `${given} lines`);
  ok(blocks.calls.length > 100);
  equal(blocks.text, "");
  blocks.answer = true;
  await blocks.clock.advance(60_000);
  await printing;
  equal(Math.max(...blocks.calls), 8, "what was kept is stored together");
  equal(blocks.text, line.repeat(400));
  const ends = blocks.added.map(({ position, text }) => position + text.length);
  deepEqual(blocks.added.map(({ position }) => position), [100, ...ends.slice(0, -1)]);
});

Deno.test("once the run is to end it does not wait long for a database that is away", async () => {
  const blocks = new Blocks();
  blocks.answer = AWAY;
  await blocks.writer.append(utf8("one\n"));
  await blocks.clock.advance(10_000);
  blocks.stopping.abort();
  const closed = blocks.writer[Symbol.asyncDispose]();
  await blocks.clock.advance(5000);
  await closed;
  await rejects(blocks.writer.append(utf8("two\n")), AWAY);
});

Deno.test("a run that is over is refused, and those who wait for room too", async () => {
  const blocks = new Blocks();
  blocks.answer = AWAY;
  const line = utf8(`${"x".repeat(99_999)}\n`);
  const appending = Array.from({ length: 20 }, () => blocks.writer.append(line));
  const settled = Promise.allSettled(appending);
  await blocks.clock.advance(1000);
  blocks.answer = false;
  await blocks.clock.advance(1000);
  const refused = (await settled).filter(({ status }) => status === "rejected");
  equal(refused.length, 9);
  const calls = blocks.calls.length;
  await rejects(blocks.writer.append(line), { code: "conflict" });
  await blocks.writer[Symbol.asyncDispose]();
  deepEqual([blocks.calls.length, blocks.told, blocks.text], [calls, 0, ""]);
});
