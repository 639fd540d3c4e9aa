/**
 * `svc task retry` of tasks that a step of another task has started, from outside.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TaskRecord, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { untilFile } from "../helpers/until.ts";

const OPEN = { webhook: { allowUnsigned: true } };

const workflow = (name: string, spec: Record<string, unknown>): Manifest => ({
  kind: "Workflow",
  metadata: { name },
  spec,
});

/** A trigger whose tasks run in the workspace `site`. */
const inSite = (name: string): Manifest => ({
  kind: "Trigger",
  metadata: { name },
  spec: {
    event: { source: "webhook", ...OPEN },
    action: { workflow: name, workspace: "site" },
  },
});

/** The one task of a workflow, after all have ended. */
async function taskOf(name: string, daemon: TestDaemon): Promise<TaskRecord> {
  await daemon.settled();
  const [task] = await daemon.json("get", "tasks", "--workflow", name) as readonly TaskRecord[];
  if (task === undefined) throw new Error(`No task of workflow "${name}"`);
  return task;
}

programTest("the retry of a child that could never run has what it was given", async (program) => {
  await using daemon = await startDaemon(program);
  const given = { target: "{{ payload.to }}" };
  await daemon.apply(
    workflow("top", { steps: [{ id: "c", workflow: "deploy", with: given }] }),
    trigger("push", { ...OPEN, workflow: "top" }),
  );
  await daemon.send("/webhook/push", { body: '{"to": "prod"}' });
  const [child, top] = [await taskOf("deploy", daemon), await taskOf("top", daemon)];
  const deploy = {
    env: { T: "{{ inputs.target }}" },
    steps: [{ id: "x", run: 'echo "$T" >> ran' }],
  };
  const early = await daemon.svc(["task", "retry", child.id]);
  match(early.stderr, /cannot run yet, missing in project "default": Workflow "deploy"/);
  await daemon.apply(workflow("deploy", deploy));
  const retried = await daemon.svc(["task", "retry", child.id]);
  equal(retried.code, 0, retried.stderr);
  await daemon.settled();
  equal(await Deno.readTextFile(`${daemon.workspace}/ran`), "prod\n");
  // And again, by the retry itself, whose own plan it has now.
  await daemon.svc(["task", "retry", retried.stdout.trim()]);
  await daemon.settled();
  equal(await Deno.readTextFile(`${daemon.workspace}/ran`), "prod\nprod\n");
  equal((await daemon.svc(["delete", "task", top.id, "--yes"])).code, 0);
  const late = await daemon.svc(["task", "retry", child.id]);
  match(late.stderr, new RegExp(`could never run, and task ${top.id}.* is gone: start anew`));
  equal((await daemon.settled()).length, 3);
});

programTest("a child that is retried takes room of its own in a shared workspace", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const spec = { path: daemon.workspace, maxParallel: 1 };
  await daemon.apply(
    { kind: "Workspace", metadata: { name: "site" }, spec },
    workflow("deploy", { steps: [{ id: "x", run: "[ -e fixed ] && echo retried >> order" }] }),
    workflow("top", { steps: [{ id: "c", workflow: "deploy" }] }),
    workflow("hold", {
      steps: [{
        id: "x",
        run: "echo yes > held; while [ ! -e go ]; do sleep 0.05; done; echo held >> order",
      }],
    }),
    inSite("top"),
    inSite("hold"),
  );
  await daemon.send("/webhook/top", { body: "{}" });
  const child = await taskOf("deploy", daemon);
  await daemon.send("/webhook/hold", { body: "{}" });
  await untilFile(`${daemon.workspace}/held`);
  await Deno.writeTextFile(`${daemon.workspace}/fixed`, "");
  const { stdout } = await daemon.svc(["task", "retry", child.id]);
  const retried = (await daemon.tasks()).find(({ id }) => id === stdout.trim());
  equal(retried?.state, "pending");
  await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  await daemon.settled();
  const order = await Deno.readTextFile(`${daemon.workspace}/order`);
  deepEqual(order.trim().split("\n"), ["held", "retried"]);
});

programTest("to retry all that failed does the work of a child once", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(
    workflow("deploy", { steps: [{ id: "x", run: "echo ran >> ran; [ -e fixed ]" }] }),
    workflow("middle", { steps: [{ id: "c", workflow: "deploy" }] }),
    workflow("top", { steps: [{ id: "c", workflow: "middle" }] }),
    trigger("push", { ...OPEN, workflow: "top" }),
  );
  await daemon.send("/webhook/push", { body: "{}" });
  const child = await taskOf("deploy", daemon);
  const ran = async () =>
    (await Deno.readTextFile(`${daemon.workspace}/ran`)).match(/ran/g)?.length;
  equal(await ran(), 1);
  await Deno.writeTextFile(`${daemon.workspace}/fixed`, "");

  const all = ["task", "retry", "--trigger", "push", "--yes"];
  const { stdout, stderr } = await daemon.svc(all);
  match(stderr, /^2 children are left out: the retry of the task above starts its children anew$/m);
  equal(stdout.trim().split("\n").length, 1);
  await daemon.settled();
  equal(await ran(), 2);
  const states = (await daemon.tasks()).map(({ state }) => state).toSorted();
  deepEqual(states, ["failed", "failed", "failed", "succeeded", "succeeded", "succeeded"]);

  // Those that a retry of the task at the top has made anew, too.
  match((await daemon.svc([...all, "--workflow", "deploy"])).stderr, /^1 child is left out/m);
  await daemon.settled();
  equal(await ran(), 2);
  await daemon.svc(["task", "retry", child.id]);
  await daemon.settled();
  equal(await ran(), 3, "by its id it runs again");
});
