/**
 * Where the files of running tasks and plugins lie, from outside: in the directory that the system has
 * for such files, and in the data directory if that fails. What may stand in its place is tested in
 * `tests/base/runtime_files_test.ts`.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { hookKind, trigger, workflow } from "../helpers/manifests.ts";
import { NO_DATABASE, ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { findMountObstacle, smallDisk } from "../helpers/small_disk.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until, untilFile } from "../helpers/until.ts";

const JSON_TYPE = { "content-type": "application/json" };
const BODY = JSON.stringify({ filler: "x".repeat(1000) });
const POLICY = "mode: allowlist\nallowed_command_prefixes: [scripts/]\n";

const names = (path: string) => [...Deno.readDirSync(path)].map(({ name }) => name);

/** Steps that note the paths of their files, wait for `go` and then use the files. */
async function apply(daemon: TestDaemon): Promise<void> {
  const plugin = {
    name: "check",
    type: "interceptor",
    phase: "webhook.authenticate",
    input: "file",
  };
  const script = `#!/bin/sh
echo "$WEBHOOK_BODY_FILE" >"$SVC_DATA_DIR/workspaces/default/body-path"
cmp -s "$WEBHOOK_BODY_FILE" - && svc tool payload-extract --path filler <"$WEBHOOK_BODY_FILE" >/dev/null
`;
  await Deno.writeTextFile(`${daemon.dataDir}/plugin-policy.yaml`, POLICY, { mode: 0o600 });
  await Deno.writeTextFile(`${daemon.dataDir}/scripts/check.sh`, script, { mode: 0o700 });
  await daemon.apply(
    hookKind({ ...plugin, command: "scripts/check.sh" }),
    workflow(
      "record",
      'printf "%s\\n" "$SVC_PAYLOAD_FILE" "$SVC_INBOX" "$SVC_OUTPUT" >paths.$$; mv paths.$$ paths; ' +
        "while [ ! -e go ]; do sleep 0.05; done; " +
        'cat "$SVC_PAYLOAD_FILE" >payload; test ! -s "$SVC_INBOX"; echo said=it >>"$SVC_OUTPUT"',
    ),
    trigger("hook", { webhook: { crdRef: "Hook" } }),
  );
}

async function post(daemon: TestDaemon, body = BODY): Promise<string> {
  const answer = await daemon.send("/webhook/hook", { body, headers: JSON_TYPE });
  equal(answer.status, 200, answer.text);
  return String(answer.json["task_id"]);
}

/** The paths of the files of the task that runs. */
async function pathsOf(daemon: TestDaemon): Promise<readonly string[]> {
  return (await untilFile(`${daemon.workspace}/paths`)).trim().split("\n");
}

/** Lets the task end, and checks that its files were what they should be. */
async function finish(daemon: TestDaemon, body = BODY): Promise<void> {
  await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  const [task] = await daemon.settled();
  deepEqual([task?.state, task?.reason], ["succeeded", ""], daemon.log);
  equal(await Deno.readTextFile(`${daemon.workspace}/payload`), body);
  const shown = await daemon.json("describe", `task/${task?.id}`);
  match(JSON.stringify(shown), /"outputs":\{"said":"it"\}/);
}

async function runtimeOf(daemon: TestDaemon): Promise<string> {
  return (await daemon.json("status") as { runtime_dir: string }).runtime_dir;
}

programTest(
  "files of runs lie in the runtime directory; what a killed daemon left goes, with the last daemon all",
  async () => {
    await using system = await tempDir();
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const start = () =>
      startDaemon(ONE_PROGRAM, {
        directory,
        args: ["--lease", "10m"],
        env: { XDG_RUNTIME_DIR: system.path },
      });
    let place: string;
    {
      await using daemon = await start();
      place = await runtimeOf(daemon);
      deepEqual(names(system.path), [place.slice(system.path.length + 1)]);
      await apply(daemon);
      const task = await post(daemon);
      const paths = await pathsOf(daemon);
      deepEqual(paths.map((path) => path.startsWith(`${place}/${task}/`)), [true, true, true]);
      const body = await Deno.readTextFile(`${daemon.workspace}/body-path`);
      ok(body.startsWith(`${place}/plugin-`), body);
      deepEqual(names(place), [task]);
      await daemon.crash();
    }
    deepEqual(names(place).length, 1);
    await Deno.writeTextFile(`${place}/of-no-task`, "");
    await Deno.remove(`${directory.path}/workspaces/default/paths`);
    {
      await using daemon = await start();
      equal(await runtimeOf(daemon), place);
      await pathsOf(daemon);
      equal(names(place).length, 1);
      await finish(daemon);
      deepEqual(names(place), []);
    }
    deepEqual(names(system.path), []);
    deepEqual(names(`${directory.path}/run`), []);
  },
);

programTest(
  "two daemons with one runtime directory do not meet, and a large payload lies in the data directory",
  async () => {
    await using system = await tempDir();
    const env = { RUNTIME_DIRECTORY: system.path };
    await using one = await startDaemon(ONE_PROGRAM, { env });
    await apply(one);
    const body = JSON.stringify({ filler: "x".repeat(300_000) });
    await post(one, body);
    const [payload, ...others] = await pathsOf(one);
    const place = await runtimeOf(one);
    ok(payload?.startsWith(`${one.dataDir}/run/`), payload);
    deepEqual(others.map((path) => path.startsWith(place)), [true, true]);
    {
      await using other = await startDaemon(ONE_PROGRAM, { env });
      equal(names(system.path).length, 2);
      await apply(other);
      await post(other);
      await pathsOf(other);
      await finish(other);
    }
    deepEqual(names(system.path), [place.slice(system.path.length + 1)]);
    await finish(one, body);
    deepEqual([names(place), names(`${one.dataDir}/run`)], [[], []]);
  },
  { fileOnly: NO_DATABASE },
);

programTest(
  "without the directory that the variable names the daemon warns, and files lie in the data directory",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM, {
      env: { XDG_RUNTIME_DIR: "/nonexistent/runtime" },
    });
    match(daemon.log, /slower.*\/nonexistent\/runtime.*it does not exist/);
    equal(await runtimeOf(daemon), `${daemon.dataDir}/run`);
    await apply(daemon);
    await post(daemon);
    for (const path of await pathsOf(daemon)) ok(path.startsWith(`${daemon.dataDir}/run/`), path);
    await finish(daemon);
  },
  { fileOnly: NO_DATABASE },
);

programTest(
  "a full runtime directory keeps no task and no plugin from its files",
  async () => {
    await using system = await smallDisk("1m");
    await using daemon = await startDaemon(ONE_PROGRAM, {
      args: ["--workers", "8"],
      env: { XDG_RUNTIME_DIR: system.path },
    });
    await apply(daemon);
    const large = JSON.stringify({ filler: "x".repeat(200_000) });
    await Deno.writeFile(`${system.path}/half`, new Uint8Array(400_000)); // then some fit, not all
    await Promise.all(Array.from({ length: 4 }, () => post(daemon, large)));
    await pathsOf(daemon);
    const ballast = await system.fill();
    const last = await post(daemon, large);
    await until(
      "the files of the last task",
      () => names(`${daemon.dataDir}/run`).includes(last) || undefined,
    );
    await Deno.remove(ballast); // a step that writes to a full one fails, as on a full disk
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    const states = (await daemon.settled()).map(({ state }) => state);
    deepEqual(states, Array(5).fill("succeeded"), daemon.log);
    deepEqual([names(await runtimeOf(daemon)), names(`${daemon.dataDir}/run`)], [[], []]);
  },
  { fileOnly: NO_DATABASE, skip: await findMountObstacle() },
);
