/**
 * `svc pause` and `svc resume`, as operations: what is refused, what is audited, who is told.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, rejects } from "node:assert/strict";
import { controlTest } from "../rigs/control_rig.ts";

controlTest("a pause is shown until it is ended, and both are audited", async (rig) => {
  const { client } = rig;
  const paused = await client.call("pause", { reason: " upgrade ", for_secs: 3600 });
  deepEqual([paused.project, paused.reason, paused.running], [null, "upgrade", 0]);
  match(`${paused.since} ${paused.until}`, /^20\S+Z 20\S+Z$/);
  const { running: _running, ...shown } = paused;
  deepEqual((await client.call("status", {})).pauses, [shown]);
  deepEqual(await client.call("pause.running", {}), { running: 0 });
  await rejects(client.call("resume", { project: "default" }), {
    code: "not_found",
    message: 'Project default is not paused: all tasks are, "svc resume" ends that',
  });
  deepEqual(await client.call("resume", {}), shown);
  await rejects(client.call("resume", {}), {
    code: "not_found",
    message: "Tasks are not paused as a whole",
  });
  const { items } = await client.call("get", { what: "control-audits" });
  deepEqual(
    items.map(({ operation, target, result }) => ({ operation, target, result })),
    [
      { operation: "resume", target: "tasks", result: "failed" },
      { operation: "resume", target: "tasks", result: "done" },
      { operation: "resume", target: "project/default", result: "failed" },
      { operation: "pause", target: "tasks", result: "done" },
    ],
  );
});

controlTest(
  "a pause of an unknown project, of no time or of too long a one is refused",
  async (rig) => {
    const { client } = rig;
    await rejects(client.call("pause", { project: "shop", reason: "x" }), {
      code: "not_found",
      message: 'No project "shop": "svc get projects" lists them',
    });
    await rejects(client.call("pause", { for_secs: 30 * 86_400 + 1, reason: "x" }), {
      message: "A pause lasts 30 days at most: leave --for out for one without an end",
    });
    await rejects(client.call("pause", { reason: "  " }), { message: /Say why/ });
    deepEqual((await client.call("status", {})).pauses, []);
  },
);
