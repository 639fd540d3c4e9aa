/**
 * What no request from outside starts runs what is applied, also where another daemon has applied it
 * and this one has not heard of that yet: two daemons over one PostgreSQL.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import type { Caller } from "../../src/auth/caller.ts";
import { loadCatalog, ResourceWriter } from "../../src/control/resources/resource_writer.ts";
import { retryTask } from "../../src/control/tasks/task_retry.ts";
import type { TasksHost } from "../../src/control/tasks/task_actions.ts";
import {
  type TriggerActionHost,
  triggerHandlers,
} from "../../src/control/triggers/trigger_actions.ts";
import { withPipeline } from "../../src/daemon/intake.ts";
import { CronSource } from "../../src/intake/schedule/cron.ts";
import { TaskSource, TaskTriggerIndex } from "../../src/intake/task.ts";
import { redeliverOne } from "../../src/intake/tools/redeliver.ts";
import type { Resource } from "../../src/resources/resource.ts";
import { createKeyring, newKeyFile } from "../../src/secrets/keyring.ts";
import type { Store } from "../../src/store/store.ts";
import type { TaskNames } from "../../src/store/task_records.ts";
import { withAnnouncements } from "../../src/store/store_methods.ts";
import { accept, idOf, taskIdOf } from "../helpers/store_records.ts";
import { intakeState, NO_PLUGINS, NOW, type StateOfIntake } from "../rigs/intake_state.ts";
import { triggerOf } from "../rigs/source_rig.ts";
import { twoDaemonsTest } from "../rigs/two_daemons.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";

const OPERATOR: Caller = { name: "ada", role: "operator" };
const BY_ADA = { called: "ada" };

const workflow = (command: string) => `
kind: Workflow
metadata: {name: ci}
spec: {steps: [{id: build, run: ${command}}]}
`;
const MANIFEST = `${workflow("earlier")}
---
kind: Workspace
metadata: {name: repo}
spec: {path: repo}
` + triggerOf("tick", 'source: cron, cron: {schedule: "* * * * *"}') +
  triggerOf("next", "source: task, task: {workflow: first}") +
  triggerOf("push", "source: webhook, webhook: {allowUnsigned: true}");

type FireHost = ReturnType<typeof withPipeline<StateOfIntake>>;

/** A daemon that knows the resources of now, over this store. */
async function daemonOver(
  store: Store,
  { state }: { readonly state: StateOfIntake },
): Promise<FireHost> {
  const { events } = state;
  const keyring = await createKeyring(newKeyFile());
  const catalog = await loadCatalog(store, keyring);
  const taskTriggers = new TaskTriggerIndex(catalog);
  return withPipeline({
    ...state,
    store: withAnnouncements(store, events),
    catalog,
    taskTriggers,
    isFollowed: (task: TaskNames) => taskTriggers.of(task).length > 0,
    resources: new ResourceWriter({ store, catalog, keyring, events }),
  }, NO_PLUGINS);
}

const apply = (store: Store, manifest: string, generation = 1) =>
  store.changeResources(
    manifestResources(manifest).map((stated) => {
      const resource: Resource = {
        ...stated,
        generation,
        createdAt: NOW,
        updatedAt: NOW + generation,
      };
      return { op: "put", resource };
    }),
  );

/** Each way, which starts one task or more; the newest is looked at. */
const WAYS: Record<string, (host: FireHost, clock: { time: number }) => Promise<unknown>> = {
  async "a schedule"(host, clock) {
    await using source = new CronSource(host);
    await source.settled();
    clock.time += 60_000;
    source.poll();
    await source.settled();
  },
  async "the end of a task"(host) {
    await accept(host.store, 1, { task: { workflow: "first", followed: true } });
    await host.store.claimTasks(1, 5);
    await host.store.finishTask({
      taskId: taskIdOf(1),
      state: "succeeded",
      reason: "",
      now: 9,
      followed: true,
    });
    await using source = new TaskSource({ ...host, answerEnd: () => Promise.resolve([]) });
    await source.settled();
  },
  "svc trigger fire": (host) =>
    triggerHandlers(host as unknown as TriggerActionHost)["trigger.fire"](
      { name: "push", payload: "{}" },
      OPERATOR,
    ),
  async "a redelivered request"(host) {
    await accept(host.store, 1, { body: new TextEncoder().encode("{}"), trigger: "push" });
    const stored = await host.store.readDelivery(idOf(1));
    if (stored === undefined) throw new Error("no delivery");
    await redeliverOne(stored, BY_ADA, host);
  },
  async "a redelivered event"(host) {
    const fired = await triggerHandlers(host as unknown as TriggerActionHost)["trigger.fire"](
      { name: "push", payload: "{}" },
      OPERATOR,
    ) as { delivery_id: string };
    const stored = await host.store.readDelivery(fired.delivery_id);
    if (stored === undefined) throw new Error("no delivery");
    await apply(host.store, workflow("applied-again"), 3);
    await redeliverOne(stored, BY_ADA, host);
  },
  async "svc task retry"(host) {
    await accept(host.store, 1, { plan: undefined, trigger: "push" });
    await retryTask({ id: taskIdOf(1) }, OPERATOR, host as unknown as TasksHost);
  },
};

for (const [way, start] of Object.entries(WAYS)) {
  twoDaemonsTest(`${way} runs what was applied at another daemon`, async ({ a, b }) => {
    await apply(a, MANIFEST);
    await using base = await intakeState([]);
    const host = await daemonOver(b, base);
    await apply(a, workflow("applied"), 2);
    await start(host, base.clock);
    const [newest] = await b.listTasks({ limit: 1 });
    equal(newest?.state, "pending", newest?.reason);
    match(await b.findPlan(newest?.id ?? "") ?? "", /"applied/);
  });
}

twoDaemonsTest(
  "a time of a schedule that another daemon has changed fires nothing",
  async ({ a, b }) => {
    await apply(a, MANIFEST);
    await using base = await intakeState([]);
    const host = await daemonOver(b, base);
    await using source = new CronSource(host);
    await source.settled();
    await apply(a, triggerOf("tick", 'source: cron, cron: {schedule: "0 0 1 1 *"}'), 2);
    base.clock.time += 60_000;
    source.poll();
    await source.settled();
    equal((await b.listTasks({ limit: 1 })).length, 0);
  },
);
