/**
 * How a step stands, on its way to the store.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { StepRecord } from "../../src/store/task_records.ts";
import { type RunParts, TaskRun } from "../../src/tasks/run/task_run.ts";

Deno.test("TaskRun stores the end of a quick step with what comes next, and that it ran not at all", async () => {
  const saved: StepRecord[] = [];
  const parts = {
    claimed: { task: { id: "t", steps: [] }, payload: new TextEncoder().encode("{}") },
    host: {
      store: { saveStep: (_: string, step: StepRecord) => Promise.resolve(saved.push(step)) },
    },
    plan: { steps: [] },
    stop: new AbortController().signal,
  } as unknown as RunParts;
  using run = new TaskRun(parts);
  const step = { position: 0, id: "a", reason: "", startedAt: 1000 };
  run.note({ ...step, state: "running" });
  run.save({ ...step, state: "succeeded", finishedAt: 1001 });
  deepEqual(saved, []);
  deepEqual(run.takeUnsaved().map(({ state }) => state), ["succeeded"]);

  run.note({ ...step, state: "running" });
  run.save({ ...step, state: "failed", finishedAt: 1001 });
  await run.saved();
  deepEqual(saved.map(({ state }) => state), ["failed"]);
});
