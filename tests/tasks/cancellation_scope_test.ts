/**
 * Why something ends: the first reason counts, and nothing comes after it has been disposed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { CancellationScope } from "../../src/tasks/cancellation_scope.ts";

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
  using late = new CancellationScope({});
  late.endAfter(20);
  using early = new CancellationScope({});
  early.endAfter(20);
  early.end("cancel");
  await new Promise((resolve) => setTimeout(resolve, 60));
  deepEqual([late.why, late.signal.aborted, early.why], ["timeout", true, "cancel"]);
});

Deno.test("CancellationScope: nothing ends it once it is disposed", async () => {
  const stop = new AbortController();
  const cancellation = new CancellationScope({ stop: stop.signal });
  cancellation.endAfter(10);
  cancellation[Symbol.dispose]();
  stop.abort();
  await new Promise((resolve) => setTimeout(resolve, 40));
  deepEqual([cancellation.why, cancellation.signal.aborted], [undefined, false]);
});
