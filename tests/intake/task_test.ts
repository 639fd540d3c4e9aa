/**
 * The source `task`: the end of one task starts the next, once, across crashes, and no loop goes on
 * for ever.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { fire } from "../../src/intake/pipeline/fire.ts";
import { findChainPosition, TaskSource } from "../../src/intake/task.ts";
import type { Store } from "../../src/store/store.ts";
import type { Task, TaskEnd } from "../../src/store/task_records.ts";
import { BASE, type SourceRig, sourceRig, triggerOf } from "../rigs/source_rig.ts";

/** The workflow `ci`, what starts it, and `after`, whose tasks follow those of `ci`. */
const CHAIN = BASE + `
---
kind: Workflow
metadata: {name: deploy}
spec: {steps: [{id: deploy, run: "true"}]}
` + triggerOf("first", "source: webhook, webhook: {allowUnsigned: true}");

const after = (name: string, more = "", event = "") =>
  triggerOf(name, `source: task, task: {workflow: ci${more}}${event}`)
    .replace("workflow: ci, workspace", "workflow: deploy, workspace");

const REPLACE = "concurrency: {policy: Replace}";

/** No task of these tests is answered. */
const answerEnd = () => Promise.resolve([]);

/** Starts a task of trigger `first` and ends it. */
async function endOne(
  rig: SourceRig,
  state: TaskEnd["state"] = "succeeded",
  reason = "",
): Promise<Task> {
  const { host, store, clock } = rig;
  const trigger = host.triggers.named({ project: "default", trigger: "first" });
  await fire(
    { resourceVersion: 0, trigger, source: "manual", id: host.newId(), payload: {} },
    host,
  );
  const { tasks: [claimed] } = await store.claimTasks(1, clock.time);
  const taskId = claimed?.task.id ?? "";
  await store.finishTask({ taskId, state, reason, now: clock.time += 1000, followed: true });
  const [task] = await store.findTasks(taskId);
  return task as Task;
}

/** Looks at every end there is. */
async function followAll(rig: SourceRig): Promise<void> {
  await using source = new TaskSource({ ...rig.host, answerEnd });
  await source.settled();
}

/** Deliveries of the source `task`. */
async function followed(rig: SourceRig) {
  return (await rig.deliveries()).filter(({ source }) => source === "task");
}

Deno.test("the end of a task fires the triggers that follow its workflow", async () => {
  await using rig = await sourceRig(CHAIN + after("next"));
  const task = await endOne(rig, "failed", 'step "build" failed');
  await followAll(rig);
  const [delivery] = await followed(rig);
  deepEqual(
    [delivery?.trigger, delivery?.outcome, delivery?.status, delivery?.remote],
    ["next", "accepted", 0, ""],
  );
  const stored = await rig.store.readDelivery(delivery?.id ?? "");
  deepEqual(JSON.parse(new TextDecoder().decode(stored?.content?.body)), {
    task_id: task.id,
    workflow: "ci",
    state: "failed",
    trigger: "first",
    reason: 'step "build" failed',
  });
  const [, next] = await rig.tasks();
  deepEqual([next?.workflow, next?.parentId, next?.depth], ["deploy", task.id, 1]);
  deepEqual(await rig.store.listTaskEnds(10), []);
});

Deno.test("a trigger follows only the states it names, of its own project, past its filter", async () => {
  await using rig = await sourceRig(
    CHAIN + after("any") + after("good", ", states: [succeeded]") +
      after("bad", ", states: [failed, cancelled]") +
      after("picky", "", ', filter: {condition: "payload.trigger == \\"other\\""}') +
      after("elsewhere").replace("{name: elsewhere}", "{name: elsewhere, project: shop}") +
      triggerOf("other-workflow", "source: task, task: {workflow: deploy}"),
  );
  await endOne(rig, "cancelled");
  await followAll(rig);
  const outcomes = (await followed(rig)).map(({ trigger, outcome }) => `${trigger} ${outcome}`);
  deepEqual(outcomes.toSorted(), ["any accepted", "bad accepted", "picky filtered"]);
});

Deno.test("a crash after the next task was stored does not start it again", async () => {
  await using rig = await sourceRig(CHAIN + after("next") + after("other"));
  await endOne(rig);
  rig.broken.forgetTaskEnd = () => Promise.reject(new AppError("overloaded", "The disk is full"));
  await followAll(rig);
  rig.broken.forgetTaskEnd = rig.store.forgetTaskEnd;
  rig.clock.time += 5000;
  await followAll(rig);
  await followAll(rig);
  equal((await followed(rig)).length, 2);
  equal((await rig.tasks()).length, 3);
  deepEqual(rig.logged.filter((line) => line.includes('"level":"error"')), []);
});

Deno.test("an end that could not be handled is handled at the next poll", async () => {
  await using rig = await sourceRig(CHAIN + after("next"));
  rig.broken.recordDelivery = () => Promise.reject(new AppError("overloaded", "The disk is full"));
  await using source = new TaskSource({ ...rig.host, answerEnd });
  rig.broken.recordDelivery = rig.store.recordDelivery;
  await endOne(rig);
  rig.broken.recordDelivery = () => Promise.reject(new AppError("overloaded", "The disk is full"));
  source.kick();
  await source.settled();
  equal((await rig.store.listTaskEnds(10)).length, 1);
  rig.broken.recordDelivery = rig.store.recordDelivery;
  source.kick();
  await source.settled();
  equal((await followed(rig)).length, 1);
});

Deno.test("one trigger that cannot be fired keeps no other from it", async () => {
  await using rig = await sourceRig(CHAIN + after("a-broken") + after("b-fine"));
  await endOne(rig);
  rig.broken.recordDelivery =
    ((delivery) =>
      delivery.delivery.trigger === "a-broken"
        ? Promise.reject(new Error("a bug"))
        : rig.store.recordDelivery(delivery)) satisfies Store["recordDelivery"];
  await followAll(rig);
  deepEqual((await followed(rig)).map(({ trigger }) => trigger), ["b-fine"]);
  deepEqual(await rig.store.listTaskEnds(10), []);
  match(rig.logged.join("\n"), /a task trigger could not be fired.*a-broken/);
});

Deno.test("a workflow that follows itself ends at depth 16, and says so", async () => {
  await using rig = await sourceRig(
    CHAIN + triggerOf("again", "source: task, task: {workflow: ci}"),
  );
  await endOne(rig);
  await using source = new TaskSource({ ...rig.host, answerEnd });
  for (let i = 0; i < 20; i++) {
    source.kick();
    await source.settled();
    const { tasks } = await rig.store.claimTasks(10, rig.clock.time);
    for (const { task: { id: taskId } } of tasks) {
      const now = rig.clock.time += 1000;
      await rig.store.finishTask({ taskId, state: "succeeded", reason: "", now, followed: true });
    }
  }
  const depths = (await rig.tasks()).map(({ depth }) => depth);
  deepEqual(depths, Array.from({ length: 17 }, (_, depth) => depth));
  const last = (await followed(rig)).at(-1);
  deepEqual([last?.outcome, last?.reason], ["skipped", "16 tasks in a row started each other"]);
});

Deno.test("a task that was replaced before it started is followed too", async () => {
  await using rig = await sourceRig(
    CHAIN + triggerOf("push", "source: cron, cron: {schedule: 0 0 1 1 *}", REPLACE) + after("next"),
  );
  const trigger = rig.host.triggers.named({ project: "default", trigger: "push" });
  for (let i = 0; i < 2; i++) {
    await fire(
      { resourceVersion: 0, trigger, source: "manual", id: rig.host.newId(), payload: {} },
      rig.host,
    );
  }
  await followAll(rig);
  const [first] = await rig.tasks();
  deepEqual((await followed(rig)).map(({ outcome }) => outcome), ["accepted"]);
  deepEqual((await rig.tasks()).at(-1)?.parentId, first?.id);
});

Deno.test("a task that could not even start is followed too", async () => {
  await using rig = await sourceRig(
    CHAIN.replace("metadata: {name: ci}", "metadata: {name: not-there}") + after("next"),
  );
  const trigger = rig.host.triggers.named({ project: "default", trigger: "first" });
  await fire(
    { resourceVersion: 0, trigger, source: "manual", id: rig.host.newId(), payload: {} },
    rig.host,
  );
  await followAll(rig);
  const [delivery] = await followed(rig);
  deepEqual([delivery?.trigger, delivery?.outcome], ["next", "accepted"]);
});

/** A trigger that follows whatever `event` says, and starts `workflow`. */
const follow = (name: string, event: string, workflow = "deploy") =>
  triggerOf(name, `source: task, task: ${event}`)
    .replace("workflow: ci, workspace", `workflow: ${workflow}, workspace`);

Deno.test("without a workflow the end of any counts, but of the one that the trigger starts", async () => {
  await using rig = await sourceRig(CHAIN + follow("alarm", "{states: [failed]}"));
  const { taskTriggers } = rig.host;
  const of = (workflow: string, project = "default") =>
    taskTriggers.of({ project, workflow, trigger: "first" }).map(({ name }) => name);
  deepEqual([of("ci"), of("gone"), of("deploy"), of("ci", "shop")], [
    ["alarm"],
    ["alarm"],
    [],
    [],
  ]);
  await endOne(rig, "failed");
  await followAll(rig);
  deepEqual((await followed(rig)).map(({ trigger, outcome }) => [trigger, outcome]), [
    ["alarm", "accepted"],
  ]);
});

Deno.test("labels choose tasks by what their workflow and their trigger carry, all of them", async () => {
  const labelled = CHAIN
    .replace("metadata: {name: ci}", "metadata: {name: ci, labels: {team: web}}")
    .replace("{name: first}", "{name: first, labels: {tier: gold}}");
  await using rig = await sourceRig(
    labelled + follow("web", "{labels: {team: web}}") +
      follow("both", "{labels: {team: web, tier: gold}}") +
      follow("other", "{labels: {team: ops}}") +
      follow("none", "{labels: {constructor: x}}") +
      follow("named", "{workflow: deploy, labels: {team: web}}", "ci"),
  );
  const task = { project: "default", workflow: "ci", trigger: "first" };
  const of = (more: Partial<typeof task> = {}) =>
    rig.host.taskTriggers.of({
      project: "default",
      workflow: "ci",
      trigger: more.trigger ?? task.trigger,
    })
      .map(({ name }) => name);
  deepEqual(of(), ["both", "web"]);
  deepEqual(of({ trigger: "gone" }), ["web"]);
});

Deno.test("triggers that follow any workflow never go round, over others either", async () => {
  await using rig = await sourceRig(
    CHAIN + `
---
kind: Workflow
metadata: {name: tell}
spec: {steps: [{id: tell, run: "true"}]}
` + follow("a-any", "{}") + follow("b-any", "{}", "tell") +
      follow("c-named", "{workflow: deploy}", "tell"),
  );
  await endOne(rig);
  await using source = new TaskSource({ ...rig.host, answerEnd });
  for (let i = 0; i < 20; i++) {
    source.kick();
    await source.settled();
    const { tasks } = await rig.store.claimTasks(100, rig.clock.time);
    for (const { task: { id: taskId } } of tasks) {
      const now = rig.clock.time += 1000;
      await rig.store.finishTask({ taskId, state: "succeeded", reason: "", now, followed: true });
    }
  }
  const chains = (await rig.tasks()).map(({ trigger, depth }) => `${depth} ${trigger}`).toSorted();
  // Each of the two hears of the first task, and of what the other has started, once.
  deepEqual(chains, [
    "0 first",
    "1 a-any",
    "1 b-any",
    "2 a-any",
    "2 b-any",
    "2 c-named",
    "3 c-named",
  ]);
});

Deno.test("the store tells of every end that is followed, so that nothing waits for the poll", async () => {
  const missing = CHAIN.replace("metadata: {name: ci}", "metadata: {name: not-there}");
  await using rig = await sourceRig(missing + follow("alarm", "{states: [failed]}"));
  await using source = new TaskSource({ ...rig.host, answerEnd });
  await source.settled();
  const trigger = rig.host.triggers.named({ project: "default", trigger: "first" });
  await fire(
    { resourceVersion: 0, trigger, source: "manual", id: rig.host.newId(), payload: {} },
    rig.host,
  );
  await source.settled();
  deepEqual((await followed(rig)).map(({ outcome }) => outcome), ["accepted"]);
});

Deno.test("TaskTriggerIndex sees triggers come and go", async () => {
  await using rig = await sourceRig(CHAIN);
  const { taskTriggers } = rig.host;
  const task = { project: "default", workflow: "ci", trigger: "first" };
  equal(taskTriggers.any(), false);
  rig.apply(after("next"));
  deepEqual(taskTriggers.of(task).map(({ name }) => name), ["next"]);
  equal(taskTriggers.of({ ...task, project: "shop" }).length, 0);
  rig.remove("next");
  equal(taskTriggers.any(), false);
});

Deno.test("findChainPosition gives a redelivered event its place in the chain again", async () => {
  await using rig = await sourceRig(CHAIN);
  const task = await endOne(rig);
  deepEqual(await findChainPosition({ task_id: task.id }, rig.store), {
    parentId: task.id,
    depth: 1,
  });
  equal(await findChainPosition({ task_id: task.id.slice(0, 20) }, rig.store), undefined);
  equal(await findChainPosition({ task_id: 5 }, rig.store), undefined);
});
