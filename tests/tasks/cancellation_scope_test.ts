/**
 * Why something ends: the first reason counts, and nothing comes after it has been disposed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { CancellationScope } from "../../src/tasks/cancellation_scope.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

Deno.test("CancellationScope: the first signal says why", () => {
  const [stop, cancel] = [new AbortController(), new AbortController()];
  using cancellation = new CancellationScope({ stop: stop.signal, cancel: cancel.signal });
  deepEqual([cancellation.why, cancellation.signal.aborted], [undefined, false]);
  cancel.abort();
  stop.abort();
  deepEqual([cancellation.why, cancellation.signal.aborted], ["cancel", true]);
});

Deno.test("CancellationScope: of signals that have aborted before, the daemon's goes first", () => {
  const aborted = AbortSignal.abort();
  using both = new CancellationScope({ stop: aborted, cancel: aborted });
  equal(both.why, "stop");
  using one = new CancellationScope({ stop: new AbortController().signal, cancel: aborted });
  deepEqual([one.why, one.signal.aborted], ["cancel", true]);
});

Deno.test("CancellationScope: time that is over is a timeout, unless something came before", async () => {
  const clock = new ManualClock();
  using late = new CancellationScope({});
  late.endAfter(20, clock);
  using early = new CancellationScope({});
  early.endAfter(20, clock);
  await clock.advance(19);
  deepEqual([late.why, early.why], [undefined, undefined]);
  early.end("cancel");
  await clock.advance(1);
  deepEqual([late.why, late.signal.aborted, early.why], ["timeout", true, "cancel"]);
});

Deno.test("CancellationScope: nothing ends it once it is disposed", async () => {
  const stop = new AbortController();
  const cancellation = new CancellationScope({ stop: stop.signal });
  const clock = new ManualClock();
  cancellation.endAfter(10, clock);
  cancellation[Symbol.dispose]();
  stop.abort();
  await clock.advance(10);
  equal(clock.waiting, 0);
  deepEqual([cancellation.why, cancellation.signal.aborted], [undefined, false]);
});
