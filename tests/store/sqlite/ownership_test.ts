/**
 * Claims in the store: what runs belongs to the node that claimed it, and is taken over by another
 * one once that is gone. Two stores over one file stand for the daemon that ended and the one that
 * follows.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { AuditStart } from "../../../src/store/audit_records.ts";
import { openStore } from "../../../src/store/sqlite/open_store.ts";
import type { Store } from "../../../src/store/store.ts";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import { rowsOf } from "../../helpers/sqlite_file.ts";
import { accept, step, taskIdOf } from "../../helpers/store_records.ts";
import { tempDir } from "../../helpers/temp_dir.ts";

interface Nodes {
  readonly before: Store;
  readonly after: Store;
  readonly path: string;
}

function test(name: string, body: (nodes: Nodes) => Promise<void>): void {
  Deno.test(name, async () => {
    await using dir = await tempDir();
    const path = `${dir.path}/svc.db`;
    await using before = await openStore(path, { node: "before" });
    await using after = await openStore(path, { node: "after" });
    await body({ before, after, path });
  });
}

const nodesIn = (path: string, table: string) =>
  rowsOf(path, `SELECT node FROM ${table} ORDER BY id`).map(({ node }) => node);

test("a task that runs is taken over once, by another node", async ({ before, after, path }) => {
  for (const n of [1, 2, 3]) await accept(before, n);
  deepEqual(await after.claimInterrupted(), [], "what waits is nobody's");
  await before.claimTasks(2, 5);
  deepEqual(nodesIn(path, "tasks"), ["before", "before", ""]);
  await before.saveStep(taskIdOf(1), { ...step(0, "running"), processGroup: 4711 });
  deepEqual(await before.claimInterrupted(), [], "not by the node that runs it");
  const interrupted = await after.claimInterrupted();
  deepEqual(
    interrupted.map(({ task }) => [task.id, task.restarts]),
    [1, 2].map((n) => [taskIdOf(n), 1]),
  );
  equal(interrupted[0]?.task.steps[0]?.processGroup, 4711);
  deepEqual(nodesIn(path, "tasks"), ["after", "after", ""]);
  deepEqual(await after.claimInterrupted(), []);
  const tasks = await after.listTasks({ limit: 9 });
  deepEqual(tasks.map(({ restarts }) => restarts), [0, 1, 1]);
});

test("a task that was put back belongs to the node that claims it next", async (nodes) => {
  const { before, after, path } = nodes;
  await accept(before, 1);
  await before.claimTasks(1, 5);
  await before.requeueTask(taskIdOf(1), { now: 5 });
  deepEqual(await after.claimInterrupted(), []);
  await after.claimTasks(1, 6);
  deepEqual(nodesIn(path, "tasks"), ["after"]);
});

test("an event that is being routed is taken over", async ({ before, after, path }) => {
  const demand = { limit: 9, now: 2_000_000_000_000, staleMs: 300_000 };
  for (const n of [1, 2]) await before.recordSourceEvent(sourceEvent(n));
  const claim = async (store: Store, routing?: readonly string[]) => {
    const given = routing === undefined ? demand : { ...demand, routing };
    return (await store.claimSourceEvents(given)).events.map(({ event }) => event.id);
  };
  deepEqual(await claim(before), [1, 2].map(eventIdOf));
  deepEqual(nodesIn(path, "source_events"), ["before", "before"]);
  deepEqual(await claim(before, [1, 2].map(eventIdOf)), [], "it is being routed");
  deepEqual(await claim(before, [eventIdOf(1)]), [eventIdOf(2)], "an answer was lost");
  deepEqual(await claim(after), [], "not before somebody asks whose they are");
  deepEqual(await claim(after, [eventIdOf(1)]), [1, 2].map(eventIdOf), "the other node is gone");
  deepEqual(nodesIn(path, "source_events"), ["after", "after"]);
});

test("a plugin that runs is taken over, oldest first, to be finished", async (nodes) => {
  const { before, after, path } = nodes;
  for (const n of [1, 2, 3]) await before.startAudit(start(n));
  await before.finishAudit(start(2).id, { result: "ok", finishedAt: 9, stderr: "" });
  deepEqual(await before.claimInterruptedAudits(), [], "not by the node that runs it");
  deepEqual((await after.claimInterruptedAudits()).map(({ id }) => id), [start(1).id, start(3).id]);
  deepEqual(nodesIn(path, "plugin_audit"), ["after", "before", "after"]);
  deepEqual(await after.claimInterruptedAudits(), []);
  deepEqual(
    await after.verifyAudit(),
    { rows: 3, faults: [] },
    "the chain does not cover the node",
  );
});

test("a store without a node name is a node of its own", async ({ before, path }) => {
  await accept(before, 1);
  await using first = await openStore(path);
  await using second = await openStore(path);
  await first.claimTasks(1, 5);
  deepEqual(await first.claimInterrupted(), []);
  equal((await second.claimInterrupted()).length, 1);
});

function start(n: number): AuditStart {
  return {
    id: `A${n}`,
    createdAt: n,
    action: "execute",
    crdKind: "Hook",
    pluginName: "check",
    command: "scripts/x.sh",
    pluginType: "interceptor",
    phase: "webhook.authenticate",
    trigger: "t",
    deliveryId: "d",
    role: "system",
    policyMode: "allowlist",
  };
}
