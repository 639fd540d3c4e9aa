/**
 * Runs of plugins with a real shell and a store that the test controls: no plugin runs without a
 * row.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { type Clock, nextTurn, systemClock } from "../../src/base/clock.ts";
import type { DataDir } from "../../src/base/data_dir.ts";
import { AppError } from "../../src/base/errors.ts";
import type { Log } from "../../src/base/log.ts";
import { RuntimeDirectory } from "../../src/base/runtime_directory.ts";
import { RunTokens } from "../../src/auth/run_tokens.ts";
import type { KnownSecrets } from "../../src/secrets/known_secrets.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { Semaphore } from "../../src/plugins/semaphore.ts";
import { type PluginHost, type PluginRun, runPlugin } from "../../src/plugins/run_plugin.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import type { AuditRecorder } from "../../src/store/audit_store.ts";
import { until } from "../helpers/until.ts";
import { known, knownIn, storeOf } from "../helpers/known_secrets.ts";
import { ManualClock, passUntil } from "../helpers/manual_clock.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** Runs a command as an interceptor would be; `startAudit` is the store's. */
interface Bench extends AsyncDisposable {
  readonly semaphore: Semaphore;
  /** What the store was asked, and what it has stored, in order. */
  readonly calls: string[];
  /** Standard error of each run, as it was stored. */
  readonly said: string[];
  run(command: string, more?: Partial<PluginRun>): ReturnType<typeof runPlugin>;
  /** Whether the command has made the file `ran`. */
  ran(): boolean;
  /** Path of a file where the command runs. */
  path(name: string): string;
  /** Files that runs have left. */
  left(): string[];
}

async function bench(
  startAudit: () => Promise<void> = () => Promise.resolve(),
  { secrets = known(), clock = systemClock, look }: {
    secrets?: KnownSecrets;
    clock?: Clock;
    /** What the look for processes that are left waits for. */
    look?: () => Promise<void>;
  } = {},
): Promise<Bench> {
  const dir = await tempDir();
  const groups = openProcessGroups();
  const semaphore = new Semaphore({ running: 1, waiting: 10 });
  const calls: string[] = [];
  const said: string[] = [];
  const store: AuditRecorder = {
    async startAudit() {
      calls.push("start asked");
      await startAudit();
      calls.push("start stored");
    },
    finishAudit(_, { result, stderr }) {
      calls.push(`finish ${result}`);
      said.push(stderr);
      return Promise.resolve();
    },
    recordAudit: () => Promise.reject(new Error("no run here is denied")),
  };
  const run = `${dir.path}/run`;
  await Deno.mkdir(run);
  const nobody = () => {};
  let runs = 0;
  const host: PluginHost = {
    secrets,
    semaphore,
    groups: { ...groups, endLeft: async (group) => (await look?.(), await groups.endLeft(group)) },
    clock,
    pluginRoot: dir.path,
    umask: 0o022,
    maxPayloadBytes: 1000,
    inherited: { PATH: "/usr/bin:/bin" },
    tokens: new RunTokens(),
    store,
    policy: () => ({ verdict: "allowed", reason: "", mode: "allowlist", maxTimeoutSecs: 5 }),
    log: { debug: nobody, info: nobody, warn: nobody, error: nobody } as unknown as Log,
    newId: () => `run${runs++}`,
    dirs: { root: dir.path } as unknown as DataDir,
    runtime: await RuntimeDirectory.open({
      dir: { root: dir.path, run },
      env: () => undefined,
      log: { warn: nobody } as unknown as Log,
    }),
  };
  return {
    semaphore,
    calls,
    said,
    run: (command, more) =>
      runPlugin({
        crdKind: "Hook",
        name: "check",
        type: "interceptor",
        phase: "",
        command,
        env: {},
        project: "default",
        trigger: "",
        deliveryId: "",
        maxOutputBytes: 1000,
        input: new TextEncoder().encode("body\n"),
        fileVariable: "WEBHOOK_BODY_FILE",
        ...more,
      }, host),
    ran: () => [...Deno.readDirSync(dir.path)].some(({ name }) => name === "ran"),
    path: (name) => `${dir.path}/${name}`,
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
      await systemClock.pause(waitMs);
      throw new AppError("overloaded", "The disk is full");
    });
    await rejects(rig.run("touch ran"), { code: "overloaded" });
    await rejects(rig.run("touch ran", { input: new Uint8Array(500_000) }), { code: "overloaded" });
    await until("nothing is left", () => rig.left().length === 0 || undefined);
    await systemClock.pause(50);
    deepEqual([rig.ran(), rig.semaphore.running], [false, 0]);
    deepEqual(rig.calls, ["start asked", "start asked"]);
  }
});

Deno.test("nothing of a plugin runs before its row is stored", async () => {
  let early: boolean | undefined;
  await using rig: Bench = await bench(async () => {
    await systemClock.pause(300);
    early = rig.ran();
  });
  const { result } = await rig.run('touch ran; cmp - "$WEBHOOK_BODY_FILE"');
  deepEqual([result, early, rig.ran()], ["ok", false, true]);
  deepEqual(rig.calls, ["start asked", "start stored", "finish ok"]);
  await until("nothing is left", () => rig.left().length === 0 || undefined);
  await until("its room", () => rig.semaphore.running === 0 || undefined);
});

/** A line that leaves a process with these redirections behind, and says which one. */
const leaving = (redirections: string) => `sleep 600 ${redirections} & echo $! > pid`;

/** Whether the process that a plugin has left behind is still there. */
async function isLeft(rig: Bench): Promise<boolean> {
  const pid = (await Deno.readTextFile(rig.path("pid"))).trim();
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  return stat !== "" && !/\) [ZX] /.test(stat);
}

/** Waits for its end: a killed process closes its files a moment before the kernel calls it dead. */
const isGone = (rig: Bench) =>
  until("the end of what is left", async () => !await isLeft(rig) || undefined);

/** A look for processes that are left which waits until it may. */
function heldLook() {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: allowed, resolve: allow } = Promise.withResolvers<void>();
  return { asked, allow, look: () => (ask(), allowed) };
}

Deno.test("the result of a plugin does not wait for what it leaves behind, but its room does", async () => {
  const { look, allow } = heldLook();
  await using rig = await bench(undefined, { look });
  const { result } = await rig.run(leaving("</dev/null >/dev/null 2>&1"));
  deepEqual([result, await isLeft(rig), rig.semaphore.running], ["ok", true, 1]);
  const next = rig.run("touch ran");
  const idle = rig.semaphore.idle();
  await until("the next one to wait", () => rig.semaphore.waiting === 1 || undefined);
  equal(rig.ran(), false);
  allow();
  equal((await next).result, "ok");
  equal(rig.ran(), true);
  await isGone(rig);
  await idle;
  equal(rig.semaphore.running, 0);
});

for (const redirections of ["2>/dev/null", ">/dev/null"]) {
  Deno.test(`the result of a plugin waits for what holds its output: ${redirections}`, async () => {
    const { look, asked, allow } = heldLook();
    await using rig = await bench(undefined, { look });
    let isOver = false;
    const running = rig.run(leaving(redirections)).finally(() => isOver = true);
    await asked;
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    deepEqual([isOver, await isLeft(rig)], [false, true]);
    allow();
    equal((await running).result, "ok");
    await isGone(rig);
  });
}

Deno.test("a file that a plugin puts beside its input file is removed with it", async () => {
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
  const clock = new ManualClock();
  await using rig = await bench(() => clock.advance(3000), { clock });
  equal((await rig.run("exit 0", { timeout: 2 })).result, "ok");
  const late = rig.run("sleep 600", { timeout: 2 });
  equal((await passUntil(clock, late, 500)).result, "timeout");
});

Deno.test("a plugin that cannot be started has a row that says so, once that is stored", async () => {
  await using rig = await bench(() => systemClock.pause(100));
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

const SECRET = "wh-s3cr3t/value+1";
const BASE64 = btoa(`${SECRET}\n`);

for (
  const [what, command] of [
    ["a plugin that fails", `echo "wrong key ${SECRET}" >&2; exit 1`],
    ["a plugin that passes", `echo "right key ${SECRET}" >&2`],
    ["a traced script", `set -x; S='${SECRET}'; : "$S"; exit 1`],
    ["base64", `echo ${SECRET} | base64 >&2; exit 1`],
    ["percent escapes", `echo ${encodeURIComponent(SECRET)} >&2; exit 1`],
    ["a value in pieces", `printf wh-s3cr >&2; sleep 0.1; printf 3t/value+1 >&2; exit 1`],
    [
      "a value at the limit",
      `head -c 8182 /dev/zero | tr '\\0' x >&2; echo ${SECRET} >&2; exit 1`,
    ],
  ] as const
) {
  Deno.test(`runPlugin stores and tells no secret of ${what}`, async () => {
    await using one = await bench(undefined, { secrets: known(SECRET) });
    const { reason } = await one.run(command);
    equal(one.said.length, 1);
    const [stored = ""] = one.said;
    for (const text of [stored, reason]) {
      for (const part of ["s3cr3t", "wh-s3cr", BASE64.slice(0, 16), "%2Fvalue"]) {
        equal(text.includes(part), false, text.slice(-200));
      }
    }
    const isCut = what === "a value at the limit";
    equal(/\*\*\*/.test(stored), !isCut);
    if (isCut) equal(stored, "x".repeat(8182)); // and no ten bytes of the value
  });
}

Deno.test("runPlugin hides a value that was replaced while the plugin ran", async () => {
  const catalog = new Catalog([storeOf("hooks", { k1: SECRET })]);
  await using one = await bench(undefined, { secrets: knownIn(catalog) });
  const run = one.run(`until [ -e go ]; do sleep 0.01; done; echo ${SECRET} >&2; exit 1`);
  while (!one.calls.includes("start stored")) await systemClock.pause(1);
  catalog.change([{ op: "put", resource: storeOf("hooks", { k1: "another-value" }) }]);
  await Deno.writeTextFile(one.path("go"), "");
  equal((await run).reason, 'interceptor "check": exit code 1: ***');
  deepEqual(one.said, ["***\n"]);
});
