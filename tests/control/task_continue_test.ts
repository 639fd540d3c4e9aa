/**
 * Open waits and `task continue`, through the control plane.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { controlTest } from "../rigs/control_rig.ts";

const WAITS = taskIdOf(1);
const DUE = Date.now() + 3_600_000;

async function prepare({ database }: { readonly database: string }): Promise<void> {
  await using store = await openStore(database);
  await accept(store, 1);
  const now = Date.now();
  await store.claimTasks(1, now);
  const parts = [{ kind: "time", dueAt: DUE, isRelative: true }] as const;
  await store.openWait({ taskId: WAITS, position: 1, round: 1, project: "default", parts, now });
  await store.parkTask(WAITS, { steps: [], until: DUE, waits: [1], now });
}

controlTest("a wait is listed, and ended by hand, once, in the audit", async ({ client }) => {
  const listed = await client.call("get", { what: "waits" });
  deepEqual(
    listed.items.map((one) => [one["id"], one["task_id"], one["step"], one["for"], one["due_at"]]),
    [[`${WAITS}.deploy`, WAITS, "deploy", "time", new Date(DUE).toISOString()]],
  );
  const named = await client.call("get", { what: "wait", name: `${WAITS}.deploy` });
  deepEqual(named.items, listed.items);
  await rejects(client.call("get", { what: "wait", name: `${WAITS}.build` }), {
    code: "not_found",
  });
  deepEqual((await client.call("get", { what: "waits", trigger: "other" })).items, []);
  const [task] = (await client.call("get", { what: "tasks", state: "waiting" })).items;
  equal(task?.["reason"], `step deploy waits until ${new Date(DUE).toISOString()}`);
  deepEqual(task?.["waits_for"], {
    what: "time",
    until: new Date(DUE).toISOString(),
    step: "deploy",
  });
  equal((await client.call("status", {})).queue.waiting, 1);

  const go = (id: string, step: string, reason = "the release\nis out") =>
    client.call("task.continue", { id, step, reason });
  await rejects(go(WAITS, "deploy", " "), { code: "invalid" });
  await rejects(go(WAITS, "nothing"), {
    code: "not_found",
    message: /its steps are build, deploy/,
  });
  await rejects(go(WAITS, "build"), { code: "conflict", message: /does not wait/ });
  deepEqual(await go(WAITS, "deploy"), { id: WAITS, step: "deploy" });
  await rejects(go(WAITS, "deploy"), {
    code: "conflict",
    message: /is over since .*: an operator ended it: the release is out$|has ended/,
  });
  deepEqual((await client.call("get", { what: "waits" })).items, []);
  const { items } = await client.call("get", { what: "control-audit", limit: 9 });
  const rows = items.filter((one) => one["operation"] === "task.continue");
  deepEqual(rows.map((one) => [one["target"], one["result"]]), [
    [`task/${WAITS}`, "failed"],
    [`task/${WAITS}`, "done"],
    [`task/${WAITS}`, "failed"],
  ]);
}, { prepare });
