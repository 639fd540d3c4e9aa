/**
 * No row, no run (contract 4): a plugin with a real shell and a store that does what the test says.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { pause, systemClock } from "../../src/base/clock.ts";
import type { DataDir } from "../../src/base/data_dir.ts";
import { AppError } from "../../src/base/errors.ts";
import type { Log } from "../../src/base/log.ts";
import { RunTokens } from "../../src/base/run_tokens.ts";
import { Gate } from "../../src/plugins/gate.ts";
import { type PluginHost, type PluginRun, runPlugin } from "../../src/plugins/run_plugin.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import type { Store } from "../../src/store/store.ts";
import { until } from "../helpers/until.ts";
import { tempDir } from "../store/temp_store.ts";

/** Runs a command as an interceptor would be; `startAudit` is the store's. */
interface Bench extends AsyncDisposable {
  readonly gate: Gate;
  /** What the store was asked, and what it has stored, in order. */
  readonly calls: string[];
  run(command: string, more?: Partial<PluginRun>): ReturnType<typeof runPlugin>;
  /** Whether the command has made the file `ran`. */
  ran(): boolean;
  /** Files that runs have left. */
  left(): string[];
}

async function bench(startAudit: () => Promise<void>): Promise<Bench> {
  const dir = await tempDir();
  const groups = openProcessGroups();
  const gate = new Gate({ running: 1, waiting: 10 });
  const calls: string[] = [];
  const store = {
    async startAudit() {
      calls.push("start asked");
      await startAudit();
      calls.push("start stored");
    },
    finishAudit: (_: string, { result }: { result: string }) => {
      calls.push(`finish ${result}`);
      return Promise.resolve();
    },
  };
  const run = `${dir.path}/run`;
  await Deno.mkdir(run);
  const nobody = () => {};
  let runs = 0;
  const host: PluginHost = {
    ...{ gate, groups, clock: systemClock, pluginRoot: dir.path, umask: 0o022 },
    ...{ maxPayloadBytes: 1000, inherited: { PATH: "/usr/bin:/bin" }, tokens: new RunTokens() },
    store: store as unknown as Store,
    policy: () =>
      Promise.resolve({ verdict: "allowed", reason: "", mode: "allowlist", maxTimeoutSecs: 5 }),
    log: { debug: nobody, info: nobody, warn: nobody, error: nobody } as unknown as Log,
    newId: () => `run${runs++}`,
    dirs: { root: dir.path, run } as unknown as DataDir,
  };
  return {
    gate,
    calls,
    run: (command, more) =>
      runPlugin({
        ...{ crdKind: "Hook", name: "check", type: "interceptor", phase: "", command, env: {} },
        ...{ project: "default", trigger: "", deliveryId: "", maxOutputBytes: 1000 },
        ...{ input: new TextEncoder().encode("body\n"), fileVariable: "WEBHOOK_BODY_FILE" },
        ...more,
      }, host),
    ran: () => [...Deno.readDirSync(dir.path)].some(({ name }) => name === "ran"),
    left: () => [...Deno.readDirSync(run)].map(({ name }) => name),
    async [Symbol.asyncDispose]() {
      await groups[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a plugin whose row cannot be stored does not run, and makes room again", async () => {
  for (const waitMs of [0, 100]) {
    await using rig = await bench(async () => {
      await pause(waitMs);
      throw new AppError("overloaded", "The disk is full");
    });
    await rejects(rig.run("touch ran"), { code: "overloaded" });
    await rejects(rig.run("touch ran", { input: new Uint8Array(500_000) }), { code: "overloaded" });
    await until("nothing is left", () => rig.left().length === 0 || undefined);
    await pause(50);
    deepEqual([rig.ran(), rig.gate.running], [false, 0]);
    deepEqual(rig.calls, ["start asked", "start asked"]);
  }
});

Deno.test("nothing of a plugin runs before its row is stored", async () => {
  let early: boolean | undefined;
  await using rig: Bench = await bench(async () => {
    await pause(300);
    early = rig.ran();
  });
  const { result } = await rig.run('touch ran; cmp - "$WEBHOOK_BODY_FILE"');
  deepEqual([result, early, rig.ran()], ["ok", false, true]);
  deepEqual(rig.calls, ["start asked", "start stored", "finish ok"]);
  await until("nothing is left", () => rig.left().length === 0 || undefined);
  equal(rig.gate.running, 0);
});

Deno.test("what a plugin puts beside the file with its input goes with it", async () => {
  await using rig = await bench(() => Promise.resolve());
  const commands = ['touch "$WEBHOOK_BODY_FILE.own"', 'rm "$WEBHOOK_BODY_FILE"', "rm -r run/*"];
  for (const command of commands) {
    equal((await rig.run(command)).result, "ok");
    await until(
      `the end of what is left by ${command}`,
      () => rig.left().length === 0 || undefined,
    );
  }
});

Deno.test("the time of a plugin counts from when its row is stored", async () => {
  await using rig = await bench(() => pause(2200));
  equal((await rig.run("exit 0", { timeout: 2 })).result, "ok");
  equal((await rig.run("sleep 600", { timeout: 2 })).result, "timeout");
});

Deno.test("a plugin that cannot be started has a row that says so, once that is stored", async () => {
  await using rig = await bench(() => pause(100));
  const { result } = await rig.run("touch ran", { env: { A: "x".repeat(200_000) } });
  deepEqual([result, rig.ran()], ["rejected", false]);
  deepEqual(rig.calls, ["start asked", "start stored", "finish rejected"]);
});

Deno.test("a plugin without input finds none", async () => {
  await using rig = await bench(() => Promise.resolve());
  const command = '[ "$(cat)" = "" ] && [ -z "$WEBHOOK_BODY_FILE" ] && touch ran';
  const { result } = await rig.run(command, { type: "cron", ...ABSENT });
  deepEqual([result, rig.ran()], ["ok", true]);
});

/** A cron plugin's run has neither. */
const ABSENT = { input: undefined, fileVariable: undefined } as unknown as Partial<PluginRun>;
