/**
 * How commands name tasks, deliveries and other records: by id, a part of it, `task/ID`, `latest`;
 * asked of a running daemon.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, rejects } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const MANIFEST = [
  { kind: "Workspace", metadata: { name: "default" }, spec: { path: "workspaces/default" } },
  { kind: "Workflow", metadata: { name: "ci" }, spec: { steps: [{ id: "a", run: "true" }] } },
  {
    kind: "Trigger",
    metadata: { name: "now" },
    spec: {
      event: { source: "webhook", webhook: { allowUnsigned: true } },
      action: { workflow: "ci", workspace: "default" },
    },
  },
].map((document) => JSON.stringify(document)).join("\n---\n");

/** Starts this many tasks; gives their ids and those of their deliveries, oldest first. */
async function start(rig: ControlRig, count: number) {
  await rig.apply(MANIFEST);
  const made: { task: string; delivery: string }[] = [];
  for (let n = 0; n < count; n++) {
    const answer = await rig.post("now", `{"n":${n}}`);
    made.push({ task: String(answer["task_id"]), delivery: String(answer["delivery_id"]) });
  }
  return made;
}

controlTest("one task is named by its id, any part of it, task/ID, or latest", async (rig) => {
  const [first, second] = await start(rig, 2);
  ok(first !== undefined && second !== undefined);
  const { task } = first;
  const names = [
    task,
    task.toLowerCase(),
    task.slice(-6),
    task.slice(-6).toLowerCase(),
    task.slice(14, 24),
    `task/${task}`,
    `tasks/${task.slice(-6)}`,
    `TASK/${task.slice(-6)}`,
  ];
  for (const id of names) deepEqual((await rig.client.call("task", { id }))["id"], task, id);
  for (const id of ["latest", "LATEST", "task/latest"]) {
    deepEqual((await rig.client.call("task", { id }))["id"], second.task, id);
  }
  const ids = ["latest", `task/${task}`];
  const ended = await Array.fromAsync(rig.client.stream("task.wait", { ids }));
  deepEqual(
    ended.flatMap((line) => "task" in line ? [line.task["id"]] : []).sort(),
    [first.task, second.task],
  );
  const described = { what: "task", name: "latest", reveal: false };
  deepEqual((await rig.client.call("describe", described))["id"], second.task);
  const got = await rig.client.call("get", { what: "tasks", name: task.slice(-6) });
  deepEqual(got.names, [`task/${task}`]);
});

controlTest("one delivery is named in the same ways", async (rig) => {
  const [first, second] = await start(rig, 2);
  ok(first !== undefined && second !== undefined);
  for (const id of [first.delivery.slice(-6), `delivery/${first.delivery}`]) {
    deepEqual((await rig.client.call("delivery.show", { id })).delivery["id"], first.delivery);
    deepEqual((await rig.client.call("delivery.explain", { id })).delivery["id"], first.delivery);
  }
  const lines = await Array.fromAsync(
    rig.client.stream("delivery.redeliver", { id: "delivery/latest" }),
  );
  deepEqual(
    lines.flatMap((line) => "delivery_id" in line ? [line.delivery_id] : []),
    [second.delivery],
  );
});

controlTest("a refusal is the latest delivery as soon as it is answered", async (rig) => {
  await start(rig, 1);
  const refused = await rig.post("now", "no JSON");
  deepEqual(refused["http"], 400);
  const { delivery } = await rig.client.call("delivery.explain", { id: "latest" });
  deepEqual([delivery["id"], delivery["outcome"]], [refused["request_id"], "rejected"]);
  await rig.post("now", "nor this");
  const wanted = { trigger: "now", outcome: "rejected", since_secs: 3600, dry_run: true };
  const [first] = await Array.fromAsync(rig.client.stream("delivery.redeliver", wanted));
  deepEqual(first, { total: 2 });
});

/** What a call is refused with. */
async function refusal(call: Promise<unknown>): Promise<AppError> {
  let error: unknown;
  await rejects(call, (thrown) => (error = thrown) instanceof AppError);
  return error as AppError;
}

controlTest(
  "a name of several records, of none, or of another type is refused with a next step",
  async (rig) => {
    const none = await refusal(rig.client.call("task", { id: "latest" }));
    deepEqual([none.code, none.message], ["not_found", "There is no task yet"]);
    const made = await start(rig, 7);
    const several = await refusal(rig.client.call("task", { id: "01" }));
    deepEqual(several.code, "usage");
    match(several.message, /^More than 5 tasks match "01": give more of the id, or its end/);
    deepEqual(
      several.details.map((line) => line.replace(/ {2}(pending|running|succeeded) .*$/, "")),
      made.slice(2).reverse().map(({ task }) => `task/${task}  now`),
    );
    match(several.details[0] ?? "", / {2}now {2}(pending|running|succeeded) {2}\d+m?s ago$/);
    for (const id of ["ZZZZZZZZ", "nonsense!", "", "task/", "%", "a".repeat(100)]) {
      const { code, message } = await refusal(rig.client.call("task", { id }));
      deepEqual(code, "not_found", id);
      match(message, /^No task "[^"]*": "svc get tasks" lists them/);
    }
    const id = `delivery/${made[0]?.delivery}`;
    const other = await refusal(rig.client.call("task", { id }));
    deepEqual(other.code, "usage");
    match(other.message, /^"delivery\/\w+" does not name a task: give .* or task\/ID$/);
    const cancelled = rig.client.call("task.cancel", { ids: ["latest", "ZZZZZZZZ"] });
    deepEqual((await refusal(cancelled)).code, "not_found", "none is cancelled");
  },
);
