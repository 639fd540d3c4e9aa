/**
 * Waits for events with several daemons over one database: the event reaches another node than the one
 * that opened the wait.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import type { TestDaemon } from "../helpers/daemon.ts";
import { trigger } from "../helpers/manifests.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import { startCluster } from "../rigs/cluster.ts";

const webhook = { allowUnsigned: true };

const send = async (daemon: TestDaemon, name: string, sha: string): Promise<string> => {
  const { status, json } = await daemon.send(`/webhook/${name}`, { body: JSON.stringify({ sha }) });
  equal(status, 200);
  return String(json["task_id"]);
};

postgresTest("the event of a wait reaches another node than that of its task", async () => {
  await using cluster = await startCluster(ONE_PROGRAM, 2);
  const [a, b] = cluster.daemons;
  ok(a !== undefined && b !== undefined);
  const waitFor = {
    trigger: "checks",
    match: { "payload.sha": "{{ payload.sha }}" },
    timeout: "1h",
  };
  await a.apply(
    {
      kind: "Trigger",
      metadata: { name: "checks" },
      spec: { event: { source: "webhook", webhook } },
    },
    {
      kind: "Workflow",
      metadata: { name: "fix" },
      spec: { steps: [{ id: "ci", waitFor }, { id: "b", run: "true" }] },
    },
    trigger("fix", { webhook, workflow: "fix" }),
  );
  await until("the other node has the triggers", async () => {
    const { status } = await b.send("/webhook/checks", { body: '{"sha":"none"}' });
    return status === 200 || undefined;
  });
  const shas = Array.from({ length: 20 }, (_, n) => `s${n}`);
  const tasks = await Promise.all(shas.map((sha, n) => send(n % 2 === 0 ? a : b, "fix", sha)));
  // some of the events come before their step waits, on both nodes
  await Promise.all(shas.map((sha, n) => send(n % 3 === 0 ? a : b, "checks", sha)));
  await until("all tasks have succeeded", async () => {
    const done = (await a.tasks()).filter(({ id, state }) =>
      tasks.includes(id) && state === "succeeded"
    );
    return done.length === tasks.length || undefined;
  }, 60_000);
  equal(((await a.json("get", "waits")) as unknown[]).length, 0);
});
