/**
 * What `svc get agents` and `svc describe` say of an Agent that works, waits or is limited.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { agentColumns, agentStatus, agentUses } from "../../src/control/resources/agent_view.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { tempStore } from "../helpers/temp_store.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";

const HOUR = 3_600_000;

Deno.test("an agent says who uses it, who waits, and until when it is limited", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  const clock = new ManualClock();
  const now = clock.now();
  const resources = manifestResources(`
kind: Agent
metadata: {name: claude}
spec: {command: claude --print, maxParallel: 1}
---
kind: Agent
metadata: {name: codex}
spec: {command: codex exec}
---
kind: Workspace
metadata: {name: claude}
spec: {path: workspaces/default}
`);
  for (const n of [1, 2]) await accept(store, n);
  await store.claimTasks(9, now);
  for (const n of [1, 2]) {
    const agents = [{ name: "claude", seats: 1 }];
    await store.takeTurn({ taskId: taskIdOf(n), position: 0, project: "default", agents, now });
  }
  const until = now + 2 * HOUR;
  await store.noteLimit({ project: "default", agent: "codex", until, reason: "weekly" }, now);
  const uses = await agentUses(resources, { store, clock });
  const agents = resources.filter(({ kind }) => kind === "Agent");
  const columns = agentColumns("Agent", uses, now);
  deepEqual(agents.map((one) => columns.map(({ cell }) => cell(one))), [
    ["1 of 1, 1 wait", ""],
    ["0", "for 2h"],
  ]);
  deepEqual(resources.map((one) => agentStatus(one, uses)), [
    { in_use: 1, waiting: 1 },
    {
      in_use: 0,
      waiting: 0,
      limited_until: new Date(until).toISOString(),
      limit_reason: "weekly",
    },
    {},
  ]);
  deepEqual(agentColumns("Workspace", uses, now), []);
});
