/**
 * How a step stands, on its way to the store.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import type { StepRecord } from "../../src/store/task_records.ts";
import { StepRecorder } from "../../src/tasks/run/step_recorder.ts";
import { known } from "../secrets/known.ts";

const STEP = { position: 0, id: "a", reason: "", startedAt: 1000 };

function recorder(saveStep?: () => Promise<void>) {
  const saved: StepRecord[] = [];
  const store = {
    saveStep: (_: string, step: StepRecord) =>
      saveStep?.() ?? Promise.resolve(void saved.push(step)),
  };
  const task = { id: "t", steps: [] };
  const host = { store, clock: systemClock, secrets: known("s3cr3t-value") };
  return { saved, steps: new StepRecorder(task, host, new AbortController().signal) };
}

const statesOf = (records: readonly StepRecord[]) => records.map(({ state }) => state);

Deno.test("the end of a quick step is stored with what comes next, and that it ran not at all", async () => {
  const { steps, saved } = recorder();
  using _steps = steps;
  steps.recordStarted({ ...STEP, state: "running" });
  steps.record({ ...STEP, state: "succeeded", finishedAt: 1001 });
  deepEqual(saved, []);
  deepEqual(statesOf(steps.takePending()), ["succeeded"]);

  steps.recordStarted({ ...STEP, state: "running" });
  steps.record({ ...STEP, state: "failed", finishedAt: 1001 });
  await steps.flush();
  deepEqual(statesOf(saved), ["failed"]);
});

Deno.test("the end of a longer step is on its way at once, without its secrets", async () => {
  const { steps, saved } = recorder();
  using _steps = steps;
  steps.record({ ...STEP, state: "failed", reason: "of s3cr3t-value", finishedAt: 2000 });
  deepEqual(steps.takePending(), []);
  await steps.flush();
  deepEqual(saved.map(({ reason }) => reason.includes("s3cr3t")), [false]);
  deepEqual(steps.records, saved);
});

Deno.test("flush gives the error of a record that the store did not take", async () => {
  const { steps } = recorder(() => Promise.reject(new Error("no store")));
  using _steps = steps;
  steps.record({ ...STEP, state: "succeeded", finishedAt: 2000 });
  await rejects(steps.flush(), { message: "no store" });
});
