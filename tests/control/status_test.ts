/**
 * What `status` says of the one who asks, and of the daemon's clock.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { connect } from "../../src/api/client.ts";
import { ROLES } from "../../src/base/roles.ts";
import { untilFile } from "../helpers/until.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const ask = async (rig: ControlRig, token?: string) => {
  using client = connect({ socket: rig.dirs.socket }, token);
  return await client.call("status", {});
};

controlTest("status names the role the socket leaves, and that of a token", async (rig) => {
  deepEqual((await ask(rig)).caller, { name: "socket", role: "admin" });
  const tokens = [];
  for (const role of ROLES) {
    const { token } = await rig.client.call("token.create", {
      role,
      ttl_secs: 60,
      name: `laptop of ${role}`,
    });
    tokens.push({ role, token });
  }
  for (const role of ROLES) {
    await Deno.writeTextFile(rig.dirs.udsPolicy, `max_role: ${role}\n`, { mode: 0o600 });
    deepEqual((await ask(rig)).caller, { name: "socket", role });
  }
  await Deno.writeTextFile(rig.dirs.udsPolicy, "max_role: nonsense\n");
  deepEqual((await ask(rig)).caller, { name: "socket", role: "read_only" });
  for (const { role, token } of tokens) {
    deepEqual((await ask(rig, token)).caller, { name: `token laptop of ${role}`, role });
  }
});

controlTest("status names no role for a run token, which has none", async (rig) => {
  await rig.apply(
    JSON.stringify({
      kind: "Workspace",
      metadata: { name: "default" },
      spec: { path: "workspaces/default" },
    }),
    JSON.stringify({
      kind: "Workflow",
      metadata: { name: "ask" },
      spec: { steps: [{ id: "one", run: "echo $SVC_RUN_TOKEN > token; sleep 60" }] },
    }),
    JSON.stringify({
      kind: "Trigger",
      metadata: { name: "now" },
      spec: {
        event: { source: "webhook", webhook: { allowUnsigned: true } },
        action: { workflow: "ask", workspace: "default" },
      },
    }),
  );
  const id = String((await rig.post("now", "{}"))["task_id"]);
  const token = (await untilFile(`${rig.dirs.workspaces}/default/token`)).trim();
  deepEqual((await ask(rig, token)).caller, { name: "step", role: null });
  await rig.client.call("task.cancel", { ids: [id] });
  for await (const _ of rig.client.stream("task.wait", { ids: [id] }));
});

controlTest(
  "status and the apply of an Agent warn until max_role is set",
  async (rig) => {
    const agent = JSON.stringify({
      kind: "Agent",
      metadata: { name: "a" },
      spec: { command: "true", timeout: "1m", sandbox: "none" }, // the machine may make none
    });
    const said = async () => ({
      status: (await ask(rig)).warnings,
      apply: (await rig.apply(agent)).warnings.filter((line) =>
        line.includes("has the role admin")
      ),
    });
    const warning =
      'every step outside a sandbox has the role admin on the control socket: write "max_role: ' +
      `operator" into ${rig.dirs.udsPolicy} (docs/access.md)`;
    deepEqual(await said(), { status: [warning], apply: [warning] });
    deepEqual((await ask(rig)).degraded, [], "no fault: the exit code stays");
    const other = JSON.stringify({
      kind: "Workflow",
      metadata: { name: "w" },
      spec: { steps: [{ id: "one", run: "true" }] },
    });
    deepEqual((await rig.apply(other)).warnings, []);
    for (const role of ["operator", "admin"]) {
      await Deno.writeTextFile(rig.dirs.udsPolicy, `max_role: ${role}\n`, { mode: 0o600 });
      deepEqual(await said(), { status: [], apply: [] }, role);
    }
  },
);

controlTest("status tells the daemon's clock", async (rig) => {
  const before = Date.now();
  const { time } = await ask(rig);
  match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const at = Date.parse(time);
  ok(before <= at && at <= Date.now(), time);
  equal(new Date(at).toISOString(), time);
});

controlTest("status names no nodes if the database is not shared", async (rig) => {
  const { nodes, database } = await ask(rig);
  deepEqual([nodes, database.server], [null, null]);
});
