/**
 * Events that no request brings, as a user meets them: files, the ends of tasks, the clock, and a
 * trigger fired by hand.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { connect } from "../../src/api/client.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { createLog } from "../../src/base/log.ts";
import { attemptWith } from "../../src/cli/attempt.ts";
import { PROGRAM } from "../../src/cli/run.ts";
import { startDaemon as startInside } from "../../src/daemon.ts";
import { initDataDirectory, ONLY_NODE, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, toText, workflow } from "../helpers/manifests.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { NO_DATABASE, ONE_PROGRAM, programTest, slowTest } from "../helpers/program.ts";
import { OFFLINE } from "../helpers/settings.ts";
import { until } from "../helpers/until.ts";

/** A delivery as `svc get deliveries -o json` shows it. */
interface DeliveryRecord {
  readonly id: string;
  readonly trigger: string;
  readonly source: string;
  readonly outcome: string;
  readonly reason: string;
  readonly status: number | null;
  readonly task_id: string | null;
}

/** A Trigger in the workspace `default`, of any source. */
function triggerOn(
  name: string,
  event: Record<string, unknown>,
  more: { workflow?: string; suspend?: boolean; concurrency?: Record<string, unknown> } = {},
): Manifest {
  const { workflow = "record", ...rest } = more;
  return {
    kind: "Trigger",
    metadata: { name },
    spec: { event, action: { workflow, workspace: "default" }, ...rest },
  };
}

const NEVER = { source: "cron", cron: { schedule: "0 0 29 2 *" } };
const FILES = {
  source: "filesystem",
  filesystem: { paths: ["inbox/*.csv"], debounceMs: 50, ignore: ["*.part"] },
};
const RECORD = workflow("record", 'cat "$SVC_PAYLOAD_FILE"');

async function deliveries(daemon: TestDaemon): Promise<readonly DeliveryRecord[]> {
  return await daemon.json("get", "deliveries") as DeliveryRecord[];
}

/** The next time that `svc get triggers` shows. */
async function nextFire(daemon: TestDaemon, name: string): Promise<string | null> {
  const trigger = await daemon.json("get", "trigger", name) as {
    status: { next_fire_at: string | null };
  };
  return trigger.status.next_fire_at;
}

programTest(
  "a file that is dropped into a workspace starts a task that reads it",
  async (program) => {
    await using daemon = await startDaemon(program);
    const inbox = `${daemon.workspace}/inbox`;
    await Deno.mkdir(inbox);
    await Deno.writeTextFile(`${inbox}/before.csv`, "was there before");
    const reads = workflow("read", 'cat "$SVC_PAYLOAD_FILE" && cat inbox/*.csv');
    // Over PostgreSQL one node has to be named that watches.
    const watching = program.onPostgres === true ? { nodes: [ONLY_NODE] } : {};
    const spec = { path: daemon.workspace, ...watching };
    const workspace: Manifest = { kind: "Workspace", metadata: { name: "default" }, spec };
    await daemon.apply(workspace, reads, triggerOn("drop", FILES, { workflow: "read" }));
    // The first look is no news; when it is over, this file is.
    await until("an event", async () => {
      await Deno.writeTextFile(`${inbox}/probe.csv`, crypto.randomUUID());
      return (await deliveries(daemon)).length > 0 || undefined;
    });
    await daemon.settled();
    await Deno.writeTextFile(`${inbox}/orders.csv.part`, "id;name\n");
    await Deno.rename(`${inbox}/orders.csv.part`, `${inbox}/orders $(touch PWN).csv`);
    const wanted = "orders $(touch PWN).csv";
    const task = await until("the task of the file", async () => {
      for (const { id } of await daemon.settled()) { // with all of its log
        const { stdout } = await daemon.svc(["task", "logs", id]);
        if (stdout.includes(wanted)) return { id, stdout };
      }
      return undefined;
    });
    match(task.stdout, /\{"event":"create","path":"inbox\/orders \$\(touch PWN\)\.csv","filename"/);
    match(task.stdout, /id;name/);
    equal((await deliveries(daemon)).filter(({ source }) => source !== "filesystem").length, 0);
    const names = [...Deno.readDirSync(daemon.workspace)].map(({ name }) => name);
    deepEqual(names.filter((name) => name.startsWith("PWN")), []);
  },
);

programTest("trigger fire starts a task of any trigger, or says why not", async (program) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(
    RECORD,
    triggerOn("nightly", NEVER),
    triggerOn("picky", { ...NEVER, filter: { condition: "payload.n == 1" } }),
  );
  const plain = await daemon.svc(["trigger", "fire", "nightly"]);
  equal(plain.code, 0, plain.stderr);
  const id = /^accepted: task\/(\w{26})\n$/.exec(plain.stdout)?.[1] ?? "";
  await daemon.settled();
  equal((await daemon.svc(["task", "logs", id])).stdout, "{}");

  const payload = '{ "n": 1, "id": 9007199254740993 }';
  const args = ["trigger", "fire", "picky", "-f", "-", "-o", "json"];
  const fired = await daemon.svc(args, { stdin: payload });
  equal(fired.code, 0, fired.stderr);
  const { task_id: taskId, outcome } = JSON.parse(fired.stdout) as Record<string, string>;
  equal(outcome, "accepted");
  await daemon.settled();
  equal((await daemon.svc(["task", "logs", taskId ?? ""])).stdout, payload);

  const held = await daemon.svc(["trigger", "fire", "picky", "-f", "-"], { stdin: '{"n":2}' });
  equal(held.code, 1);
  match(held.stdout, /^filtered: delivery\/\w{26} \(the condition is false\)\n$/);
  const [latest] = await deliveries(daemon);
  deepEqual([latest?.source, latest?.status, latest?.task_id], ["manual", null, null]);
  const explained = await daemon.svc(["delivery", "explain", latest?.id ?? ""]);
  match(explained.stdout, /none needed, an operator fired it/);
  match(explained.stdout, /payload\.n == 1 is false, where payload\.n is 2/);

  const before = (await daemon.tasks()).length;
  const tried = await daemon.svc(["trigger", "test", "picky", "-f", "-"], { stdin: '{"n":2}' });
  equal(tried.code, 1);
  match(tried.stdout, /none needed, the source is cron\nfilter: .* is 2\)\ndecide: +filtered/);
  const stricter = triggerOn("picky", { ...NEVER, filter: { condition: "payload.n == 3" } });
  const against = ["apply", "-f", "-", "--dry-run", "--against", "1h"];
  const compared = await daemon.svc(against, { stdin: toText([stricter]) });
  match(compared.stdout, /accepted → filtered/);
  match(compared.stdout, /unchanged/);
  for (const stdin of ["[1]", "{", "", "\ud800".padEnd(3)]) {
    const refused = await daemon.svc(["trigger", "fire", "picky", "-f", "-"], { stdin });
    equal(refused.code, 1, refused.stdout);
    ok(refused.stderr !== "");
  }
  equal((await daemon.svc(["trigger", "fire", "nobody"])).code, 4);
  equal((await daemon.tasks()).length, before);
});

slowTest(
  "trigger suspend and resume, as an apply would, and redelivery after it",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(RECORD, triggerOn("nightly", NEVER));
    match(await nextFire(daemon, "nightly") ?? "", /^20\d\d-02-29T00:00:00\.000Z$/);
    for (let i = 0; i < 2; i++) {
      const { code, stdout } = await daemon.svc(["trigger", "suspend", "nightly"]);
      deepEqual([code, stdout], [0, "trigger/nightly suspended\n"]);
    }
    equal(await nextFire(daemon, "nightly"), null);
    const { spec, status } = await daemon.json("get", "trigger", "nightly") as {
      spec: { suspend?: boolean };
      status: { generation: number; updated_at: string; suspended_at?: string };
    };
    deepEqual([spec.suspend, status.generation], [true, 2]);
    equal(status.suspended_at, status.updated_at);
    const filtered = { ...NEVER, filter: { condition: "true" } };
    await daemon.apply(triggerOn("nightly", filtered, { suspend: true })); // changes something else
    const fired = await daemon.svc(["trigger", "fire", "nightly"]);
    equal(fired.code, 1);
    const since = `the trigger is suspended, since ${status.suspended_at}`;
    ok(/^skipped: /.test(fired.stdout) && fired.stdout.includes(`(${since})`), fired.stdout);
    const { stdout: explained } = await daemon.svc(["delivery", "explain", "latest"]);
    match(explained, /^next: The trigger is still suspended: svc trigger resume nightly$/m);
    equal((await daemon.svc(["trigger", "resume", "nightly"])).stdout, "trigger/nightly resumed\n");
    match((await daemon.svc(["get", "triggers"])).stdout, /NEXT .*\n.*\bno +in \d+d/);
    const again = ["delivery", "redeliver", "--trigger", "nightly", "--since", "1h"];
    const redelivered = await daemon.svc([...again, "--outcome", "skipped"]);
    equal(redelivered.code, 0, redelivered.stderr);
    match(redelivered.stdout, / accepted as delivery\/\w{26}, task\/\w{26}\n$/);
    const { results } = await daemon.apply(triggerOn("nightly", filtered));
    deepEqual(results.map(({ action }) => action), ["unchanged"]);
    equal((await daemon.svc(["trigger", "suspend", "nobody"])).code, 4);
  },
);

slowTest(
  "the end of a task starts the next, in its chain, also after a kill",
  async (program) => {
    await using directory = await initDataDirectory(program);
    const chain = [
      workflow("build", 'test -e "$SVC_DATA_DIR/broken" && exit 3; true'),
      // A run that a kill cut off may have left a line without its end.
      workflow("tell", 'echo; cat "$SVC_PAYLOAD_FILE"; echo'),
      triggerOn("start", NEVER, { workflow: "build" }),
      triggerOn("failed", { source: "task", task: { workflow: "build", states: ["failed"] } }, {
        workflow: "tell",
      }),
    ];
    {
      await using daemon = await startDaemon(program, { directory });
      await daemon.apply(...chain);
      await daemon.svc(["trigger", "fire", "start"]);
      equal((await daemon.settled()).length, 1, "it succeeded, which nobody follows");
      await Deno.writeTextFile(`${directory.path}/broken`, "");
      await daemon.svc(["trigger", "fire", "start"]);
      await daemon.crash();
    }
    await using daemon = await startDaemon(program, { directory });
    const told = await until(
      "the task that follows",
      async () => (await daemon.settled()).find(({ trigger }) => trigger === "failed"),
    );
    const [parent] = (await daemon.tasks()).filter(({ trigger }) => trigger === "start");
    const { stdout } = await daemon.svc(["task", "logs", told.id]);
    // The kill may have come while it ran: then it ran again.
    deepEqual(JSON.parse(stdout.trim().split("\n").at(-1) ?? ""), {
      task_id: parent?.id,
      workflow: "build",
      state: "failed",
      trigger: "start",
      reason: parent?.reason,
    });
    const { parent_id } = await daemon.json("get", "task", told.id) as { parent_id: string };
    equal(parent_id, parent?.id);
    equal((await daemon.tasks()).filter(({ trigger }) => trigger === "failed").length, 1);
    const redelivered = await daemon.svc(["delivery", "redeliver", told.delivery_id]);
    const again = /, task\/(\w{26})\n$/.exec(redelivered.stdout)?.[1] ?? redelivered.stderr;
    deepEqual(
      (await daemon.json("get", "task", again) as { parent_id: string }).parent_id,
      parent?.id,
      "it keeps its place in the chain",
    );
  },
);

slowTest("nobody below operator may fire, suspend or resume, steps included", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const commands = ["fire", "suspend", "resume"].map((word) =>
    `svc trigger ${word} other || echo $?`
  );
  await daemon.apply(
    workflow("try", commands.join("\n")),
    triggerOn("other", NEVER, { workflow: "try" }),
  );
  const { stdout } = await daemon.svc(["trigger", "fire", "other"]);
  const id = /task\/(\w+)/.exec(stdout)?.[1] ?? "";
  await daemon.settled();
  const log = await daemon.svc(["task", "logs", id]);
  deepEqual(log.stdout.match(/^\d$/gm), ["5", "5", "5"], log.stdout);
  await Deno.writeTextFile(
    `${daemon.dataDir}/control-plane/uds-policy.yaml`,
    "max_role: read_only\n",
  );
  for (const word of ["fire", "suspend", "resume"]) {
    equal((await daemon.svc(["trigger", word, "other"])).code, 5);
  }
  equal((await daemon.tasks()).length, 1);
}, { fileOnly: NO_DATABASE });

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

slowTest(
  "a clock moved an hour back and a day forward neither storms nor repeats a cron trigger",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const dir = dataDirAt(directory.path);
    const clock = setClock(Date.parse("2026-05-05T11:59:30Z"));
    // It polls every second; here ten times as often.
    const soon: Clock["after"] = (ms, then) => systemClock.after(ms === 1000 ? 100 : ms, then);
    await using _daemon = await startInside({
      dir,
      clock: { ...clock, after: soon },
      settings: OFFLINE,
      umask: 0o022,
      attempt: attemptWith(PROGRAM),
      log: createLog({ level: "error", format: "json", clock, write: () => {} }),
      env: (name) => ({ PATH: "/usr/bin:/bin", HOME: dir.root })[name],
    });
    using client = connect({ socket: dir.socket });
    const tick = triggerOn("tick", {
      source: "cron",
      cron: { schedule: "*/5 * * * *", catchUp: "one" },
    });
    const files = [{ name: "-", text: toText([RECORD, tick]) }];
    await client.call("apply", { files, dry_run: false });
    const fired = async () => {
      const { items } = await client.call("get", { what: "deliveries", limit: 1000 });
      return items.map((item) => String(item["id"])).toSorted();
    };
    /**
     * Sets the clock, waits for so many, and gives the daemon the time to poll.
     */
    const moveTo = async (text: string, count: number) => {
      clock.time = Date.parse(text);
      await until("what is due", async () => (await fired()).length >= count || undefined);
      await new Promise((resolve) => setTimeout(resolve, 500));
      return await fired();
    };
    equal((await moveTo("2026-05-05T12:00:00Z", 1)).length, 1);
    const before = await moveTo("2026-05-05T12:05:01Z", 2);
    equal(before.length, 2);
    clock.time -= HOUR;
    deepEqual(await moveTo("2026-05-05T11:05:30Z", 2), before);
    deepEqual(await moveTo("2026-05-05T12:00:10Z", 2), [...before], "12:00 came before");
    const after = await moveTo("2026-05-06T12:07:00Z", 3);
    equal(after.length, before.length + 1, "of a day of 288, the newest");
    equal((await moveTo("2026-05-06T12:10:00Z", 4)).length, before.length + 2);
    const { items } = await client.call("get", { what: "tasks", limit: 1000 });
    equal(items.length, before.length + 2);
  },
  { fileOnly: "a clock that is not that of PostgreSQL is refused" },
);
