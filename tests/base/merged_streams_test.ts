/**
 * Several streams as one: turns, ends, errors, and no stream left behind.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { mergedStreams } from "../../src/base/merged_streams.ts";

/** A stream whose values come when the test gives them. */
function source() {
  const values: string[] = [];
  let wake = () => {};
  let ended = false;
  const stopped: string[] = [];
  return {
    stopped,
    give(...more: readonly string[]) {
      values.push(...more);
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    async *stream(name: string) {
      try {
        for (;;) {
          const value = values.shift();
          if (value !== undefined) yield `${name}${value}`;
          else if (ended) return;
          else await new Promise<void>((resolve) => wake = resolve);
        }
      } finally {
        stopped.push(name);
      }
    },
  };
}

async function* failing(): AsyncGenerator<string> {
  yield await Promise.resolve("whole");
  throw new Error("broken");
}

Deno.test("a stream that has much to say takes turns with one that has little", async () => {
  const [much, little] = [source(), source()];
  much.give("1", "2", "3", "4");
  little.give("1");
  much.end();
  little.end();
  const merged = mergedStreams([much.stream("much"), little.stream("little")], () => {});
  deepEqual(await Array.fromAsync(merged), ["much1", "little1", "much2", "much3", "much4"]);
});

Deno.test("a later item is given when it arrives, even while the other stream waits", async () => {
  const [a, b] = [source(), source()];
  const merged = mergedStreams([a.stream("a"), b.stream("b")], () => {
    a.end();
    b.end();
  });
  const first = merged.next();
  b.give("1");
  deepEqual(await first, { done: false, value: "b1" });
  const second = merged.next();
  b.give("2");
  deepEqual((await second).value, "b2");
  a.give("1");
  deepEqual((await merged.next()).value, "a1");
  await merged.return(undefined);
  deepEqual([...a.stopped, ...b.stopped].toSorted(), ["a", "b"]);
});

Deno.test("a reader that has enough ends every stream, those with something to give too", async () => {
  const [a, b, c] = [source(), source(), source()];
  a.give("1", "2");
  b.give("1", "2");
  const streams = [a.stream("a"), b.stream("b"), c.stream("c")];
  const merged = mergedStreams(streams, () => c.end());
  deepEqual((await merged.next()).value, "a1");
  await merged.return(undefined);
  deepEqual([...a.stopped, ...b.stopped, ...c.stopped].toSorted(), ["a", "b", "c"]);
});

Deno.test("an error of one stream is the end of all", async () => {
  const other = source();
  const merged = mergedStreams([other.stream("other"), failing()], () => other.end());
  await rejects(Array.fromAsync(merged), { message: "broken" });
  deepEqual(other.stopped, ["other"]);
});
