/**
 * The plan of a retried child that could never run: that of its own workflow, with what the trigger asks
 * of those who send its events.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { retryTask } from "../../src/control/tasks/task_retry.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { RetryOf, Task } from "../../src/store/task_records.ts";
import { type Plan, Planner } from "../../src/tasks/plan.ts";
import { taskIdOf } from "../helpers/store_records.ts";
import { currentOf } from "../rigs/intake_state.ts";

const [PARENT, CHILD, RETRY] = [1, 2, 3].map(taskIdOf) as [string, string, string];

const resource = (kind: string, name: string, spec: unknown) => ({
  kind,
  project: "default",
  name,
  metadata: {},
  spec,
  generation: 1,
  createdAt: 0,
  updatedAt: 0,
});

const CATALOG = new Catalog([
  resource("Workflow", "top", { steps: [{ id: "c", workflow: "deploy" }] }),
  resource("Workflow", "deploy", { steps: [{ id: "x", run: "true" }] }),
  resource("Workspace", "site", { path: "/srv/site", maxParallel: 2 }),
  resource("Workspace", "default", { path: "/srv" }),
  resource("Trigger", "push", {
    event: { source: "webhook" }, // it asks for nothing any more
    action: { workflow: "top", workspace: "default" },
  }),
]);

/** The plan with which a child is retried, when the plan of its parent is this one. */
async function retried(above: Partial<Plan> | undefined) {
  const child = {
    id: CHILD,
    project: "default",
    trigger: "push",
    workflow: "deploy",
    workspace: "site",
    state: "failed",
    finishedAt: 1,
    parentId: PARENT,
    rootId: PARENT,
    steps: [],
  } as unknown as Task;
  let asked: RetryOf | undefined;
  const store = {
    findTasks: () => Promise.resolve([child]),
    findPlan: (id: string) =>
      Promise.resolve(id === PARENT && above !== undefined ? JSON.stringify(above) : undefined),
    retryTask(given: RetryOf) {
      asked = given;
      return Promise.resolve({ ...child, id: given.id });
    },
  };
  const [planner, clock] = [new Planner(CATALOG), { now: () => 5 }];
  const resources = currentOf(CATALOG);
  const host = { store, catalog: CATALOG, resources, planner, clock, newId: () => RETRY };
  await retryTask({ id: CHILD }, { name: "ada", role: "operator" }, host as never);
  const { plan, ...names } = asked?.planned ?? {};
  return { ...names, plan: plan && JSON.parse(plan.json) as Plan };
}

Deno.test("a child that could never run is retried with its own workflow, guarded as it was", async () => {
  const from = { permission: "write" } as const;
  const { plan, ...names } = await retried({
    source: { webhook: { from, connection: "tidepool" } },
    goal: "ship",
  });
  deepEqual(names, { workflow: "deploy", workspace: "site", workspaceMax: 2 });
  deepEqual(plan?.steps.map(({ id }) => id), ["x"]);
  deepEqual([plan?.from, plan?.goal], [{ ...from, connection: "tidepool" }, "ship"]);
  deepEqual((await retried({ source: {} })).plan?.from, undefined);
});

Deno.test("without the plan of the task above nobody knows who may start it, so it is refused", async () => {
  for (const above of [undefined, {}]) {
    await rejects(retried(above), {
      code: "conflict",
      message:
        `Task ${CHILD} could never run, and task ${PARENT}, which has started it, is gone: ` +
        "start anew",
    });
  }
});
