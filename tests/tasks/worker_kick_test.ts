import { strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { ENDLESS } from "../../src/store/lease.ts";
import type { TaskQueue } from "../../src/store/task_store.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { openWorker, type WorkerHost } from "../../src/tasks/run/worker.ts";

/** A worker that finds nothing to do, and how often it has looked. */
async function idleWorker(run: string, onLook: (look: number) => void) {
  let looks = 0;
  const store: Pick<TaskQueue, "claimInterrupted" | "claimTasks"> = {
    claimInterrupted: () => Promise.resolve([]),
    claimTasks() {
      onLook(++looks);
      return Promise.resolve({ tasks: [] });
    },
  };
  const host = {
    store,
    clock: { now: () => 0 },
    workers: 1,
    events: new EventHub({ error: () => {} }),
    dirs: { run },
    lease: ENDLESS,
    health: new HealthConditions(),
  } as unknown as WorkerHost;
  const worker = await openWorker(host);
  worker.listen();
  return { worker, looks: () => looks };
}

/** Calls `then` after so many steps of the queue of microtasks. */
function afterSteps(steps: number, then: () => void): void {
  if (steps === 0) then();
  else queueMicrotask(() => afterSteps(steps - 1, then));
}

for (let steps = 0; steps <= 20; steps++) {
  Deno.test(`kick is heard ${steps} steps after a look has begun: the task that just came does not wait for the next`, async () => {
    let kick = () => {};
    const kickOnce = [(look: number) => afterSteps(steps, () => look === 2 && kick())];
    await using dir = await tempDir();
    const { worker, looks } = await idleWorker(dir.path, (look) => kickOnce[0]?.(look));
    await using _ended = worker;
    kick = () => worker.kick();
    await new Promise((resolve) => setTimeout(resolve)); // the look at the start is over
    equal(looks(), 1);
    worker.kick();
    await new Promise((resolve) => setTimeout(resolve));
    equal(looks(), 3);
  });
}
