import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { SparseLog } from "../../src/base/sparse_log.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

function logRig() {
  const clock = new ManualClock();
  const lines: string[] = [];
  const write = (message: string, facts = {}) =>
    void lines.push(`${message} ${JSON.stringify(facts)}`);
  const log = new SparseLog({
    clock,
    log: { debug: write, info: write, warn: write, error: write },
  });
  return { clock, lines, log };
}

Deno.test("SparseLog writes the first of each key at once, and the others once a minute", async () => {
  const { clock, lines, log } = logRig();
  for (let n = 0; n < 10_000; n++) log.warn("a", { n });
  log.warn("a", { n: 0 }, { key: "a of another" });
  log.warn("b", {}, { count: 7 });
  deepEqual(lines, ['a {"n":0,"count":1}', 'a {"n":0,"count":1}', 'b {"count":7}']);
  await clock.advance(59_999);
  deepEqual(lines.length, 3);
  await clock.advance(1);
  deepEqual(lines.slice(3), ['a {"n":9999,"count":9999}']);
  log.warn("a", { n: 1 });
  log.warn("b");
  deepEqual(lines.slice(4), ['b {"count":1}'], "a was written just now, b a minute ago");
  await clock.advance(60_000);
  deepEqual(lines.slice(5), ['a {"n":1,"count":1}']);
});

Deno.test("SparseLog forgets messages that no longer occur, and leaves no timer", async () => {
  const { clock, lines, log } = logRig();
  log.warn("a");
  await clock.advance(60_000);
  deepEqual([lines.length, clock.waiting], [1, 0]);
  log.warn("a");
  log.warn("a");
  log[Symbol.dispose]();
  deepEqual([lines.slice(1), clock.waiting], [['a {"count":1}', 'a {"count":1}'], 0]);
});
