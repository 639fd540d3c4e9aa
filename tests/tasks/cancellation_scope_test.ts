/**
 * Why something ends: the first reason counts, and nothing comes after it has been disposed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { Ending } from "../../src/tasks/cancellation_scope.ts";

Deno.test("Ending: the first signal says why", () => {
  const [stop, cancel] = [new AbortController(), new AbortController()];
  using ending = new Ending({ stop: stop.signal, cancel: cancel.signal });
  deepEqual([ending.why, ending.signal.aborted], [undefined, false]);
  cancel.abort();
  stop.abort();
  deepEqual([ending.why, ending.signal.aborted], ["cancel", true]);
});

Deno.test("Ending: of signals that have aborted before, the daemon's goes first", () => {
  const aborted = AbortSignal.abort();
  using both = new Ending({ stop: aborted, cancel: aborted });
  equal(both.why, "stop");
  using one = new Ending({ stop: new AbortController().signal, cancel: aborted });
  deepEqual([one.why, one.signal.aborted], ["cancel", true]);
});

Deno.test("Ending: time that is over is a timeout, unless something came before", async () => {
  using late = new Ending({});
  late.endAfter(20);
  using early = new Ending({});
  early.endAfter(20);
  early.end("cancel");
  await new Promise((resolve) => setTimeout(resolve, 60));
  deepEqual([late.why, late.signal.aborted, early.why], ["timeout", true, "cancel"]);
});

Deno.test("Ending: nothing ends it once it is disposed", async () => {
  const stop = new AbortController();
  const ending = new Ending({ stop: stop.signal });
  ending.endAfter(10);
  ending[Symbol.dispose]();
  stop.abort();
  await new Promise((resolve) => setTimeout(resolve, 40));
  deepEqual([ending.why, ending.signal.aborted], [undefined, false]);
});
