/**
 * Plugins and hooks of a daemon that shares a database and is killed: nothing of them is left, though
 * nobody starts it again.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { join } from "node:path";
import { hookKind, toText, trigger, workflow } from "../helpers/manifests.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import { findMarkedProcesses } from "../helpers/leftovers.ts";
import { startCluster } from "../rigs/cluster.ts";

const POLICY = "mode: allowlist\nallowed_command_prefixes: [scripts/]\nmax_timeout_secs: 300\n";
/** It stays, and so does what has left its process group. */
const SCRIPT = "#!/bin/sh\nsetsid sleep 300 &\nsleep 300\n";
const COMMAND = { command: "scripts/stay.sh", timeout: 300 };

postgresTest("kill -9: plugins and hooks end at once", async () => {
  await using cluster = await startCluster(ONE_PROGRAM, 1);
  const { daemons: [daemon] } = cluster;
  ok(daemon !== undefined);
  const { dataDir } = daemon;
  await Deno.writeTextFile(join(dataDir, "plugin-policy.yaml"), POLICY, { mode: 0o600 });
  await Deno.writeTextFile(join(dataDir, "scripts/stay.sh"), SCRIPT, { mode: 0o700 });
  const check = { name: "check", type: "interceptor", phase: "webhook.authenticate", ...COMMAND };
  const definition = hookKind(check);
  await daemon.apply(
    { ...definition, spec: { ...definition.spec, hooks: { onCreate: COMMAND } } },
    workflow("record", "true"),
    trigger("hook", { webhook: { crdRef: "Hook" } }),
  );
  const instance = toText([{ kind: "Hook", metadata: { name: "one" }, spec: {} }]);
  const left = [
    daemon.send("/webhook/hook", { body: "{}" }).then(() => {}, () => {}),
    daemon.svc(["apply", "-f", "-"], { stdin: instance }),
  ];
  const runs = async () =>
    new Set((await findMarkedProcesses(dataDir)).filter((line) => line.endsWith("sleep 300")));
  await until("an interceptor and a hook", async () => (await runs()).size === 2 || undefined);

  await daemon.crash();
  await Promise.all(left);
  await until("their end", async () => (await runs()).size === 0 || undefined);
  deepEqual(await findMarkedProcesses(dataDir), []);
});
