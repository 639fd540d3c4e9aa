/**
 * When a chat event is routed, as tables.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import {
  afterFailure,
  canReplay,
  DUE_NOW,
  dueTimes,
  earliest,
  enqueue,
} from "../../../src/store/rules/chat_queue.ts";

for (
  const { ignored, isThreadBusy, place } of [
    { ignored: false, isThreadBusy: false, place: { state: "received", behind: false } },
    { ignored: false, isThreadBusy: true, place: { state: "received", behind: true } },
    { ignored: true, isThreadBusy: false, place: { state: "ignored", behind: false } },
    { ignored: true, isThreadBusy: true, place: { state: "ignored", behind: false } },
  ]
) {
  Deno.test(`a new event, ignored ${ignored}, thread busy ${isThreadBusy}: ${place.state}`, () => {
    deepEqual(enqueue({ ignored, isThreadBusy }), place);
  });
}

const NOW = 1_700_000_000_000;
const MINUTE_MS = 60_000;

for (
  const { dueAt, due, why } of [
    { dueAt: DUE_NOW, due: true, why: "whatever the clock says" },
    { dueAt: NOW, due: true, why: "its time has come" },
    { dueAt: NOW + 1, due: false, why: "its time has not come" },
    { dueAt: NOW + 10 * MINUTE_MS, due: false, why: "as far as anything is put off" },
    { dueAt: NOW + 10 * MINUTE_MS + 1, due: true, why: "the clock was set back since" },
  ]
) {
  Deno.test(`an event due at now + ${dueAt - NOW} ms is ${due ? "" : "not "}due: ${why}`, () => {
    const { until, beyond } = dueTimes(NOW);
    equal(dueAt <= until || dueAt > beyond, due);
  });
}

Deno.test("what is due now is due under a clock that starts anew", () => {
  ok(DUE_NOW <= dueTimes(0).until);
});

for (
  const { dueAt, counts, after } of [
    { dueAt: 5, counts: true, after: { state: "received", attempts: 1, promotesNext: false } },
    { dueAt: 5, counts: false, after: { state: "received", attempts: 0, promotesNext: false } },
    { dueAt: undefined, counts: true, after: { state: "failed", attempts: 1, promotesNext: true } },
    {
      dueAt: undefined,
      counts: false,
      after: { state: "failed", attempts: 0, promotesNext: true },
    },
  ]
) {
  Deno.test(`after a failure, due at ${dueAt}, counts ${counts}: ${after.state}`, () => {
    deepEqual(afterFailure(dueAt === undefined ? { counts } : { dueAt, counts }), after);
  });
}

Deno.test("an event that was not routed can be replayed; a routed one, or one being routed, cannot", () => {
  deepEqual((["ignored", "needs_attention", "failed"] as const).map(canReplay), [true, true, true]);
  deepEqual((["received", "routing", "routed"] as const).map(canReplay), [false, false, false]);
});

Deno.test("the earliest of some times, if there is any", () => {
  equal(earliest([7, undefined, 5]), 5);
  equal(earliest([undefined]), undefined);
  equal(earliest([0, 5]), 0);
});
