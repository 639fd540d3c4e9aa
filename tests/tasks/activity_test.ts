/**
 * What is seen of a task while it runs: since when its steps are silent, and how long they may take.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { Activity } from "../../src/tasks/run/activity.ts";

function begun() {
  const clock = { at: 100, now: () => clock.at };
  return { clock, activity: new Activity(clock) };
}

Deno.test("a task is silent since its step began, or printed something last", () => {
  const { clock, activity } = begun();
  deepEqual(activity.of("A"), { id: "A", since: 100 }, "no step runs yet");
  clock.at = 200;
  const step = activity.attempt(5000);
  clock.at = 300;
  deepEqual(activity.of("A"), { id: "A", since: 100, silentSince: 200, mayTakeMs: 5000 });
  activity.seen();
  clock.at = 400;
  deepEqual(activity.of("A"), { id: "A", since: 100, silentSince: 300, mayTakeMs: 5000 });
  step[Symbol.dispose]();
  deepEqual(activity.of("A"), { id: "A", since: 100 }, "between two steps");
});

Deno.test("of parallel steps, the longest time limit counts", () => {
  const { clock, activity } = begun();
  using _short = activity.attempt(1000);
  clock.at = 200;
  const long = activity.attempt(9000);
  deepEqual(activity.of("A"), { id: "A", since: 100, silentSince: 200, mayTakeMs: 9000 });
  const endless = activity.attempt();
  deepEqual(activity.of("A"), { id: "A", since: 100, silentSince: 200 });
  endless[Symbol.dispose]();
  long[Symbol.dispose]();
  deepEqual(activity.of("A"), { id: "A", since: 100, silentSince: 200, mayTakeMs: 1000 });
});
