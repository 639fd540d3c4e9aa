/**
 * An API that answers a step with nothing but limits.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { LimitWatch } from "../../src/tasks/sandbox/limit_watch.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const limit = (at: number) => ({ origin: "https://api.example", status: 429 as const, at });

Deno.test("a minute of nothing but limits ends the step", async () => {
  const clock = new ManualClock();
  using watch = new LimitWatch(clock);
  watch.hear(limit(1));
  await clock.advance(40_000);
  watch.hear(limit(2));
  equal(watch.signal.aborted, false);
  await clock.advance(20_000);
  equal(watch.signal.aborted, true);
  deepEqual(watch.limit, limit(2));
});

Deno.test("a good answer in between begins the minute anew, and the limit is still known", async () => {
  const clock = new ManualClock();
  using watch = new LimitWatch(clock);
  watch.hear(limit(1));
  await clock.advance(40_000);
  watch.hear(undefined);
  await clock.advance(40_000);
  equal(watch.signal.aborted, false);
  deepEqual([watch.limit, watch.seen], [undefined, limit(1)]);
});
