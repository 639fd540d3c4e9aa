/**
 * How a step stands, on its way to the store.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import type { ClaimedTask, StepRecord } from "../../src/store/task_records.ts";
import { InboxReading } from "../../src/tasks/run/inbox_reading.ts";
import { StepRecorder } from "../../src/tasks/run/step_recorder.ts";
import type { Inboxes } from "../../src/tasks/step/inbox.ts";
import { known } from "../helpers/known_secrets.ts";
import { until } from "../helpers/until.ts";

const STEP = { position: 0, id: "a", reason: "", startedAt: 1000 };

function recorder(
  saveStep?: (step: StepRecord) => Promise<void>,
  stop = new AbortController().signal,
  inbox: Pick<InboxReading, "asItIsNow"> = { asItIsNow: (record) => record },
) {
  const saved: StepRecord[] = [];
  const store = {
    saveStep: (_: string, step: StepRecord) =>
      saveStep?.(step) ?? Promise.resolve(void saved.push(step)),
    beginRound: (_: string, steps: readonly StepRecord[]) =>
      Promise.resolve(void saved.push(...steps)),
  };
  const task = { id: "t", steps: [] };
  const host = { store, clock: systemClock, secrets: known("s3cr3t-value"), inbox };
  return { saved, steps: new StepRecorder(task, host, stop) };
}

Deno.test("a record that is stored later says what is read by then", async () => {
  const inbox = new InboxReading({ task: { id: "t" }, readUpTo: 0 } as ClaimedTask, {} as Inboxes);
  const { saved, steps } = recorder(undefined, new AbortController().signal, inbox);
  inbox.advance(2);
  steps.recordStarted({ ...STEP, state: "running", readUpTo: 2 });
  steps.record({ ...STEP, position: 1, state: "succeeded", finishedAt: 1001, readUpTo: 2 });
  inbox.takeBack(1); // what another step was given
  await until("the start is stored", () => Promise.resolve(saved[0]));
  deepEqual(saved.map(({ readUpTo }) => readUpTo), [1, 1]);
});

const statesOf = (records: readonly StepRecord[]) => records.map(({ state }) => state);

Deno.test("the end of a quick step is stored with the next record, and its start is not stored", async () => {
  const quick = recorder();
  await using _quick = quick.steps;
  quick.steps.recordStarted({ ...STEP, state: "running" });
  quick.steps.record({ ...STEP, state: "succeeded", finishedAt: 1001 });
  deepEqual(statesOf(await quick.steps.takeUnsaved()), ["succeeded"]);
  deepEqual(quick.saved, []);

  const { steps, saved } = recorder();
  await using _steps = steps;
  steps.recordStarted({ ...STEP, state: "running" });
  steps.record({ ...STEP, state: "failed", finishedAt: 1001 });
  await steps.flush();
  deepEqual(statesOf(saved), ["failed"]);
});

Deno.test("the end of a longer step is on its way at once, without its secrets", async () => {
  const { steps, saved } = recorder();
  await using _steps = steps;
  steps.record({ ...STEP, state: "failed", reason: "of s3cr3t-value", finishedAt: 2000 });
  deepEqual(await steps.takeUnsaved(), []);
  deepEqual(saved.map(({ reason }) => reason.includes("s3cr3t")), [false]);
  deepEqual(steps.records, saved);
});

Deno.test("flush gives the error of a record that the store did not take", async () => {
  const { steps } = recorder(() => Promise.reject(new Error("no store")));
  await using _steps = steps;
  steps.record({ ...STEP, state: "succeeded", finishedAt: 2000 });
  await rejects(steps.flush(), { message: "no store" });
  await rejects(steps.takeUnsaved(), { message: "no store" });
});

Deno.test("the changes that the store did not take before the stop are returned, the last of each step", async () => {
  const stop = new AbortController();
  const away = ({ position }: StepRecord) =>
    position === 2 ? Promise.resolve() : Promise.reject(new AppError("overloaded", "Not now"));
  const { steps } = recorder(away, stop.signal);
  await using _steps = steps;
  steps.record({ ...STEP, state: "pending", reason: "the next attempt", attempt: 2 });
  steps.record({ ...STEP, state: "succeeded", finishedAt: 2000 });
  steps.record({ ...STEP, position: 1, state: "failed", finishedAt: 1001 });
  steps.record({ ...STEP, position: 2, state: "succeeded", finishedAt: 2000 });
  stop.abort();
  deepEqual(
    (await steps.takeUnsaved()).map(({ position, state }) => [position, state]),
    [[0, "succeeded"], [1, "failed"]],
  );
});
