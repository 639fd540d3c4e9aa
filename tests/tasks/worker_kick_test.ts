import { strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { ENDLESS } from "../../src/store/lease.ts";
import type { Claim } from "../../src/store/task_records.ts";
import type { TaskQueue } from "../../src/store/task_store.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { openWorker, type WorkerHost } from "../../src/tasks/run/worker.ts";

/** Lets everything run that waits for no claim. */
const settle = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("kick while a claim is open: the worker claims once more after it, as the claim may have missed a task", async () => {
  const claims: ((claim: Claim) => void)[] = [];
  const store: Pick<TaskQueue, "claimInterrupted" | "claimTasks"> = {
    claimInterrupted: () => Promise.resolve([]),
    claimTasks: () => new Promise((resolve) => claims.push(resolve)),
  };
  await using dir = await tempDir();
  await using worker = await openWorker({
    store,
    clock: { now: () => 0 },
    workers: 1,
    events: new EventHub({ error: () => {} }),
    dirs: { run: dir.path },
    lease: ENDLESS,
    health: new HealthConditions(),
  } as unknown as WorkerHost);
  const answer = async () => {
    claims.at(-1)?.({ tasks: [] });
    await settle();
  };
  worker.listen();
  equal(claims.length, 1);
  worker.kick();
  worker.kick();
  await settle();
  equal(claims.length, 1, "the open claim asks for all places");
  await answer();
  equal(claims.length, 2, "two kicks need one more claim");
  await answer();
  equal(claims.length, 2, "nothing has kicked since");
});
