/**
 * Cancelling and retrying all tasks that match: which those are, in what order, and what is refused.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Input } from "../../src/api/operations.ts";
import type { MatchingLine } from "../../src/api/task_operations.ts";
import { until } from "../helpers/until.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const WAIT = "until [ -e go ]; do sleep 0.05; done";

/** Triggers of these names, each with a workflow of its name that runs this line. */
async function applyTriggers(rig: ControlRig, lines: Readonly<Record<string, string>>) {
  const workspace = {
    kind: "Workspace",
    metadata: { name: "default" },
    spec: { path: "workspaces/default" },
  };
  const others = Object.entries(lines).flatMap(([name, run]) => [
    { kind: "Workflow", metadata: { name }, spec: { steps: [{ id: "one", run }] } },
    {
      kind: "Trigger",
      metadata: { name },
      spec: {
        event: { source: "webhook", webhook: { allowUnsigned: true } },
        action: { workflow: name, workspace: "default" },
      },
    },
  ]);
  await rig.apply(...[workspace, ...others].map((document) => JSON.stringify(document)));
}

let fired = 0;
/** Fires a trigger so many times; gives the tasks. */
async function fire(rig: ControlRig, trigger: string, times: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < times; n++) {
    ids.push(String((await rig.post(trigger, `{"n":${fired++}}`))["task_id"]));
  }
  return ids;
}

type Result = Exclude<MatchingLine, { readonly total: number }>;

async function run(
  rig: ControlRig,
  name: "task.cancel.matching" | "task.retry.matching",
  input: Input<"task.cancel.matching">,
): Promise<readonly Result[]> {
  const [first, ...rest] = await Array.fromAsync(rig.client.stream(name, input));
  const results = rest.filter((line) => !("total" in line)) as readonly Result[];
  deepEqual(first, { total: results.length });
  return results;
}

const cancel = (rig: ControlRig, input: Input<"task.cancel.matching">) =>
  run(rig, "task.cancel.matching", input);
const retry = (rig: ControlRig, input: Input<"task.retry.matching">) =>
  run(rig, "task.retry.matching", input);

const ended = async (rig: ControlRig, ids: readonly string[]) => {
  for await (const _ of rig.client.stream("task.wait", { ids }));
};

async function stateOf(rig: ControlRig, id: string) {
  const { state, reason } = await rig.client.call("task", { id });
  return [state, reason];
}

controlTest(
  "task.cancel.matching cancels pending tasks, then running ones, and no others",
  async (rig) => {
    await applyTriggers(rig, { a: WAIT, b: WAIT });
    const a = await fire(rig, "a", 4); // two of them run
    const [b = ""] = await fire(rig, "b", 1);
    await until("two run", async () => {
      const { queue } = await rig.client.call("status", {});
      return queue.running === 2 ? true : undefined;
    });
    const dry = await cancel(rig, { trigger: "a", dry_run: true });
    const [one = "", two = "", three = "", four = ""] = a;
    deepEqual(dry, [
      { task_id: three, state: "pending" },
      { task_id: four, state: "pending" },
      { task_id: one, state: "running" },
      { task_id: two, state: "running" },
    ]);
    deepEqual((await stateOf(rig, three))[0], "pending", "a dry run changes nothing");
    const done = await cancel(rig, { trigger: "a", reason: "wrong branch" });
    deepEqual(done.map(({ task_id: id, result }) => [id, result]), [
      [three, "cancelled"],
      [four, "cancelled"],
      [one, "stopping"],
      [two, "stopping"],
    ]);
    await ended(rig, a);
    for (const id of a) {
      deepEqual(await stateOf(rig, id), ["cancelled", "cancelled by an operator: wrong branch"]);
    }
    const { steps } = await rig.client.call("task", { id: three });
    equal(steps[0]?.state, "skipped", "none of those that waited ran in between");
    await until(
      "the other to run",
      async () => (await stateOf(rig, b))[0] === "running" ? true : undefined,
    );
    deepEqual(await cancel(rig, { workflow: "b", state: "pending" }), []);
    deepEqual(await cancel(rig, { workflow: "b", project: "shop" }), []);
    deepEqual(
      (await cancel(rig, { workflow: "b", state: "running" })).map(({ task_id }) => task_id),
      [
        b,
      ],
    );
    await ended(rig, [b]);
  },
);

controlTest(
  "task.retry.matching retries failed tasks once, and names those that cannot be retried",
  async (rig) => {
    await applyTriggers(rig, { a: "[ -e fixed ]", b: "exit 1", c: "true" });
    const a = await fire(rig, "a", 3);
    const [b = ""] = await fire(rig, "b", 1);
    const [c = ""] = await fire(rig, "c", 1);
    await ended(rig, [...a, b, c]);
    await Deno.writeTextFile(`${rig.dirs.workspaces}/default/fixed`, "");
    deepEqual(await retry(rig, { trigger: "a", since_secs: 0, dry_run: true }), []);
    deepEqual(
      await retry(rig, { trigger: "a", since_secs: 3600, dry_run: true }),
      a.map((id) => ({ task_id: id, state: "failed" })),
    );
    const made = await retry(rig, { trigger: "a" });
    deepEqual(made.map(({ task_id: id }) => id), a, "oldest first");
    const again = made.map(({ new_task_id: id = "" }) => id);
    await ended(rig, again);
    for (const [at, id] of again.entries()) {
      const { state, retry_of: of } = await rig.client.call("task", { id });
      deepEqual([state, of], ["succeeded", a[at]]);
    }
    deepEqual(await retry(rig, { trigger: "a" }), [], "each has its retry");
    const [first] = await retry(rig, { state: "failed" });
    equal(first?.task_id, b);
    await ended(rig, [first?.new_task_id ?? ""]);
    const [second, ...none] = await retry(rig, { state: "failed" });
    deepEqual([second?.task_id, none], [first?.new_task_id, []], "the retry that failed, not both");
    await ended(rig, [second?.new_task_id ?? ""]);
    const [whole] = await retry(rig, { state: "succeeded", workflow: "c" });
    equal(whole?.task_id, c);
    match(whole?.note ?? "", /succeeded, so all of its steps run again/);
    await ended(rig, [whole?.new_task_id ?? ""]);
  },
);

controlTest("one task that cannot be retried keeps the others from nothing", async (rig) => {
  await applyTriggers(rig, { a: "exit 1" });
  const [lost = ""] = await fire(rig, "a", 1);
  await ended(rig, [lost]);
  await applyTriggers(rig, { b: "exit 1" });
  await rig.apply(JSON.stringify({
    kind: "Trigger",
    metadata: { name: "none" },
    spec: {
      event: { source: "webhook", webhook: { allowUnsigned: true } },
      action: { workflow: "missing", workspace: "default" },
    },
  }));
  const [never = ""] = await fire(rig, "none", 1);
  const [b = ""] = await fire(rig, "b", 1);
  await ended(rig, [never, b]);
  const results = await retry(rig, { state: "failed" });
  deepEqual(results.map(({ task_id: id, error }) => [id, error === undefined]), [
    [lost, true],
    [never, false],
    [b, true],
  ]);
  match(results[1]?.error ?? "", /cannot run yet, .*Workflow "missing"/);
  await ended(rig, results.flatMap(({ new_task_id: id }) => id === undefined ? [] : [id]));
});

controlTest("without a filter, and in other states, nothing is done", async (rig) => {
  await applyTriggers(rig, { a: WAIT });
  const [id = ""] = await fire(rig, "a", 1);
  for (const input of [{}, { project: "default" }, { dry_run: true }]) {
    for (const act of [cancel, retry]) {
      await rejects(act(rig, input), {
        code: "usage",
        message: /^Every task would be (cancelled|retried): give a trigger, /,
      });
    }
  }
  await rejects(cancel(rig, { state: "failed" }), {
    message: 'Tasks are cancelled in the state pending or waiting or running, not "failed"',
  });
  await rejects(retry(rig, { state: "running" }), { code: "usage" });
  await rejects(cancel(rig, { state: "running", reason: "x".repeat(501) }), { code: "invalid" });
  await rejects(cancel(rig, { state: "nonsense" }), { code: "usage" });
  await until(
    "it to run",
    async () => (await stateOf(rig, id))[0] === "running" ? true : undefined,
  );
  await cancel(rig, { trigger: "a" });
  await ended(rig, [id]);
});
