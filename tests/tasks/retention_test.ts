/**
 * Retention of tasks and deliveries: what goes, what stays, and what goes with it. A real store, a
 * clock that is moved by hand.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { type DataDir, dataDirAt } from "../../src/base/data_dir.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { createLog } from "../../src/base/log.ts";
import type { Store } from "../../src/store/store.ts";
import type { Task } from "../../src/store/task_records.ts";
import { removeOrphans } from "../../src/tasks/retention/orphans.ts";
import { prune, startRetention } from "../../src/tasks/retention/retention.ts";
import type { RetentionHost, RetentionLimits } from "../../src/tasks/retention/retention_host.ts";
import { SessionHomes } from "../../src/tasks/sandbox/session_homes.ts";
import type { ToolHost } from "../../src/tasks/workspace/run_tool.ts";
import { TaskDirectories } from "../../src/tasks/workspace/task_directory.ts";
import { noteRepository } from "../../src/tasks/workspace/kept_commits.ts";
import { LogFiles, logPath } from "../../src/store/files/log_files.ts";
import { systemClock } from "../../src/base/clock.ts";
import { ManualClock, passUntil, setClock } from "../helpers/manual_clock.ts";
import { Bodies } from "../../src/tasks/retention/bodies.ts";
import { admitted } from "../helpers/admitted.ts";
import { accept, filterOut, idOf, newDelivery, taskIdOf } from "../helpers/store_records.ts";
import { type TempStore, tempStore } from "../helpers/temp_store.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

/** A session whose home cannot be removed. */
const STUCK = "stuck";
const DAY_MS = 24 * 3600 * 1000;
const START = 1_700_000_000_000;

/** A store with a clock, and the directories of a daemon. */
interface Rig extends AsyncDisposable {
  readonly store: Store;
  readonly clock: { time: number };
  readonly dirs: DataDir;
  readonly host: RetentionHost;
  /** Directories that were removed with the commits of their tasks. */
  readonly removed: string[];
  /** Directories that were removed, and the commits kept. */
  readonly tidied: string[];
  readonly logged: string[];
  /** Stores task `n` with a log, ended now. */
  ended(n: number, trigger?: string): Promise<void>;
  /** Numbers of the tasks there are, the oldest first. */
  tasks(): Promise<number[]>;
  /** Numbers of the deliveries there are, the oldest first. */
  deliveries(): Promise<number[]>;
  logs(): string[];
  /** Runs retention once. */
  prune(keep: RetentionLimits): Promise<void>;
}

async function rig(broken: Partial<Store> = {}): Promise<Rig> {
  const temp: TempStore = await tempStore();
  const { store } = temp;
  const dirs = dataDirAt(temp.dir);
  await Deno.mkdir(dirs.logs);
  const clock = setClock(START);
  clock.pause = (_ms, signal) => systemClock.pause(0, signal); // each step gives way to others
  const removed: string[] = [];
  const tidied: string[] = [];
  const logged: string[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    clock,
    write: (line) => void logged.push(line),
  });
  const onDisk = new TaskDirectories({} as ToolHost, dirs, {
    check: () => Promise.resolve({ hasSteps: false }),
  });
  const homes = new SessionHomes({} as ToolHost, dirs.sessions);
  const host: RetentionHost = {
    catalog: new Catalog(),
    clock,
    log,
    logs: new LogFiles(dirs.logs),
    dirs,
    keep: { tasksMs: 30 * DAY_MS, bodiesMs: 0, perTrigger: 10_000 },
    store: { ...store, ...broken },
    sessionHomes: {
      ids: () => homes.ids(),
      async remove(id) {
        if (id === STUCK) throw new AppError("invalid", "it cannot be removed");
        await Deno.remove(homes.of(id).path, { recursive: true });
      },
    },
    directories: {
      madeFor: (id) => onDisk.madeFor(id),
      whereCommitsAre: (id) => onDisk.whereCommitsAre(id),
      discard({ directory }) {
        if (directory !== "") removed.push(directory);
        return Promise.resolve([]);
      },
      remove(_id, directory) {
        tidied.push(directory);
        return Promise.resolve("");
      },
    },
  };
  const numberOf = (id: string) => Number(id.slice(-6));
  return {
    store,
    clock,
    dirs,
    host,
    removed,
    tidied,
    logged,
    async ended(n, trigger = "push") {
      await accept(store, n, { trigger, receivedAt: clock.time });
      await store.claimTasks(1, clock.time);
      const taskId = taskIdOf(n);
      equal(
        await store.finishTask({ taskId, state: "succeeded", reason: "", now: clock.time }),
        true,
      );
      await Deno.writeTextFile(logPath(dirs.logs, taskId), "{}\n");
    },
    async tasks() {
      const tasks = await store.listTasks({ limit: 10_000 });
      return tasks.map(({ id }) => numberOf(id)).reverse();
    },
    async deliveries() {
      const deliveries = await store.listDeliveries({ limit: 10_000 });
      return deliveries.map(({ id }) => numberOf(id)).reverse();
    },
    logs: () => [...Deno.readDirSync(dirs.logs)].map(({ name }) => name).sort(),
    prune: (keep) => prune({ ...host, keep }, new AbortController().signal),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

const logsOf = (...numbers: readonly number[]) => numbers.map((n) => `${taskIdOf(n)}.jsonl`);

Deno.test("retention by age: ended tasks go with their deliveries and logs, others stay", async () => {
  await using r = await rig();
  await r.ended(1);
  await r.ended(2);
  await filterOut(r.store, 3);
  r.clock.time += 10 * DAY_MS;
  await r.ended(4);
  await accept(r.store, 5, { receivedAt: r.clock.time - 10 * DAY_MS });
  r.clock.time += 20 * DAY_MS - 1;
  await r.prune({ tasksMs: 30 * DAY_MS, bodiesMs: 0, perTrigger: 0 });
  deepEqual(await r.tasks(), [1, 2, 4, 5]);
  r.clock.time += 10;
  await r.prune({ tasksMs: 30 * DAY_MS, bodiesMs: 0, perTrigger: 0 });
  deepEqual(await r.tasks(), [4, 5]);
  deepEqual(await r.deliveries(), [4, 5]);
  deepEqual(r.logs(), logsOf(4));
  ok(r.logged.join().includes('"tasks":2'), r.logged.join());
});

Deno.test("retention by number: the newest of each trigger stay, and pending tasks do not count", async () => {
  await using r = await rig();
  for (const n of [1, 2, 3, 4, 5]) await r.ended(n);
  for (const n of [6, 7]) await r.ended(n, "other");
  await accept(r.store, 8, { receivedAt: r.clock.time });
  await r.prune({ tasksMs: 0, bodiesMs: 0, perTrigger: 3 });
  deepEqual(await r.tasks(), [3, 4, 5, 6, 7, 8]);
  deepEqual(r.logs(), logsOf(3, 4, 5, 6, 7));
});

Deno.test(skippable("retention of 0 and 0 keeps everything for ever", NOT_SLOW), async () => {
  await using r = await rig();
  for (const n of [1, 2, 3]) await r.ended(n);
  r.clock.time += 10_000 * DAY_MS;
  await r.prune({ tasksMs: 0, bodiesMs: 0, perTrigger: 0 });
  deepEqual(await r.tasks(), [1, 2, 3]);
  deepEqual(await r.deliveries(), [1, 2, 3]);
});

Deno.test(
  skippable("retention keeps a delivery as long as its task, and a day at least", NOT_SLOW),
  async () => {
    await using r = await rig();
    await accept(r.store, 1, { receivedAt: r.clock.time });
    await filterOut(r.store, 2);
    r.clock.time += DAY_MS / 2;
    await r.prune({ tasksMs: DAY_MS, bodiesMs: 0, perTrigger: 0 });
    deepEqual(await r.deliveries(), [1, 2]);
    r.clock.time += DAY_MS;
    await r.prune({ tasksMs: DAY_MS, bodiesMs: 0, perTrigger: 0 });
    deepEqual([await r.tasks(), await r.deliveries()], [[1], [1]]);
  },
);

Deno.test(
  skippable("retention removes what is too much in small steps, all of it in one look", NOT_SLOW),
  async () => {
    const steps: number[] = [];
    await using r = await rig();
    for (let n = 1; n <= 250; n++) await r.ended(n);
    r.clock.time += 31 * DAY_MS;
    const store: Store = {
      ...r.store,
      async pruneTasks(options) {
        const removed = await r.store.pruneTasks(options);
        steps.push(removed.length);
        return removed;
      },
    };
    await prune({ ...r.host, store }, new AbortController().signal);
    deepEqual(await r.tasks(), []);
    deepEqual(await r.deliveries(), []);
    deepEqual(r.logs(), []);
    deepEqual(steps.filter((n) => n > 0), [50, 50, 50, 50, 50]);
  },
);

Deno.test("retention removes the directory that a task had for itself", async () => {
  await using r = await rig();
  await r.ended(1);
  await r.store.setTaskDirectory(taskIdOf(1), "/data/worktrees/x");
  r.clock.time += 31 * DAY_MS;
  await r.prune({ tasksMs: 30 * DAY_MS, bodiesMs: 0, perTrigger: 0 });
  deepEqual(r.removed, ["/data/worktrees/x"]);
});

Deno.test("retention goes on where a file cannot be removed, and says so", async () => {
  await using r = await rig();
  for (const n of [1, 2]) await r.ended(n);
  const path = logPath(r.dirs.logs, taskIdOf(1));
  await Deno.remove(path);
  await Deno.mkdir(`${path}/not-empty`, { recursive: true });
  r.clock.time += 31 * DAY_MS;
  await r.prune({ tasksMs: 30 * DAY_MS, bodiesMs: 0, perTrigger: 0 });
  deepEqual(await r.tasks(), []);
  deepEqual(r.logs(), logsOf(1));
  ok(r.logged.some((line) => line.includes('"level":"warn"') && line.includes(taskIdOf(1))));
});

Deno.test("retention stops in between when the daemon does", async () => {
  const stop = new AbortController();
  await using r = await rig();
  for (const n of [1, 2]) await r.ended(n);
  r.clock.time += 31 * DAY_MS;
  stop.abort();
  await prune(r.host, stop.signal);
  deepEqual(await r.tasks(), [1, 2]);
});

Deno.test("removeOrphans: the log of a task that is gone goes, others and strange files stay", async () => {
  await using r = await rig();
  await r.ended(1);
  for (const n of [2, 3]) await Deno.writeTextFile(logPath(r.dirs.logs, taskIdOf(n)), "{}\n");
  const strange = ["notes.txt", "x.jsonl", `${idOf(1)}.jsonl.gz`];
  for (const name of strange) await Deno.writeTextFile(`${r.dirs.logs}/${name}`, "mine");
  await removeOrphans(r.host, new AbortController().signal);
  deepEqual(r.logs(), [...logsOf(1), ...strange].sort());
});

Deno.test("removeOrphans: the directory of a task that is gone goes, unless a retry works in it", async () => {
  await using r = await rig();
  const of = (n: number) => `${r.dirs.worktrees}/${taskIdOf(n)}`;
  for (const n of [1, 2, 3]) await Deno.mkdir(of(n), { recursive: true });
  await Deno.mkdir(`${r.dirs.worktrees}/mine`);
  await r.ended(3);
  await r.ended(4);
  await r.store.setTaskDirectory(taskIdOf(4), `${of(2)}/packages/app`);
  await removeOrphans(r.host, new AbortController().signal);
  deepEqual(r.removed, [of(1)]);
});

/** The store of one of two nodes; the other one has these tasks, which have their directories there. */
async function besideAnother(r: Rig, taken: ReadonlySet<string>): Promise<RetentionHost> {
  const [self] = await r.store.listNodes();
  if (self === undefined) throw new Error("no node");
  const placed = (tasks: readonly Task[]) =>
    tasks.map((task) =>
      taken.has(task.id)
        ? { ...task, node: "other", directory: `${r.dirs.worktrees}/${task.id}` }
        : task
    );
  return {
    ...r.host,
    store: {
      ...r.host.store,
      listNodes: () => Promise.resolve([self, { ...self, id: "other", isSelf: false }]),
      findTasks: async (id) => placed(await r.store.findTasks(id)),
      listTasks: async (query) => placed(await r.store.listTasks(query)),
    },
  };
}

Deno.test("removeOrphans: what a task left here that another node took over goes, recorded or not", async () => {
  await using r = await rig();
  const of = (n: number) => `${r.dirs.worktrees}/${taskIdOf(n)}`;
  for (const n of [1, 2, 3]) await Deno.mkdir(of(n), { recursive: true });
  await r.ended(1);
  await r.ended(2);
  await r.store.setTaskDirectory(taskIdOf(2), of(2));
  await accept(r.store, 3, { receivedAt: r.clock.time });
  const host = await besideAnother(r, new Set([taskIdOf(1)]));
  await removeOrphans(host, new AbortController().signal);
  deepEqual([r.removed, r.tidied], [[of(1)], []]);
});

Deno.test("removeOrphans: what the crash of its task left here unrecorded goes, kept commits stay", async () => {
  await using r = await rig();
  const { worktrees, copies } = r.dirs;
  const of = (n: number) => `${worktrees}/${taskIdOf(n)}`;
  for (const n of [1, 2, 3, 4, 5, 6]) await r.ended(n);
  await accept(r.store, 7, { receivedAt: r.clock.time });
  for (const n of [1, 4, 7]) await Deno.mkdir(of(n), { recursive: true });
  await Deno.mkdir(`${copies}/${taskIdOf(5)}.part`, { recursive: true });
  const note = (n: number, refs: readonly string[]) =>
    noteRepository(worktrees, taskIdOf(n), { repository: "/repo", refs });
  await Deno.mkdir(`${of(8)}.git`);
  await note(1, []);
  await note(2, []);
  await note(3, ["refs/svc/tasks/x"]);
  await note(7, []);
  await r.store.setTaskDirectory(taskIdOf(6), `${of(4)}/sub`); // a retry of 4
  await removeOrphans(r.host, new AbortController().signal);
  deepEqual(r.tidied.toSorted(), [`${copies}/${taskIdOf(5)}`, of(1), of(2)]);
  deepEqual(r.removed, [of(8)], "what a sandbox had of the repository of a removed task");
});

Deno.test("retention removes what a task left that another node took over, unless it came back", async () => {
  await using r = await rig();
  const of = (n: number) => `${r.dirs.worktrees}/${taskIdOf(n)}`;
  for (const n of [1, 2, 3]) {
    await r.ended(n);
    await Deno.mkdir(of(n), { recursive: true });
  }
  await accept(r.store, 4, { receivedAt: r.clock.time });
  const left = [
    { id: taskIdOf(1), directory: "", isMoved: true },
    { id: taskIdOf(2), directory: `${of(2)}/sub`, isMoved: true },
    { id: taskIdOf(4), directory: of(4), isMoved: true },
    { id: taskIdOf(3), directory: "" }, // removed: a retry may work in its directory
  ];
  const host = await besideAnother(r, new Set([taskIdOf(1), taskIdOf(2)]));
  const store = { ...host.store, pruneTasks: () => Promise.resolve(left.splice(0)) };
  await prune({ ...host, store }, new AbortController().signal);
  deepEqual([r.removed, r.tidied], [[of(1), `${of(2)}/sub`, of(2)], []]);
});

Deno.test("retention that failed is repeated soon, and svc status says so until then", async () => {
  await using r = await rig();
  const clock = new ManualClock(START);
  const health = new HealthConditions();
  let locked = true;
  const rounds: number[] = [];
  const pruneTasks: Store["pruneTasks"] = (options) => {
    rounds.push(clock.monotonicMs());
    if (locked) return Promise.reject(new AppError("overloaded", "The database is locked"));
    return r.store.pruneTasks(options);
  };
  await using _retention = startRetention({
    ...r.host,
    clock,
    health,
    store: { ...r.store, pruneTasks },
  });
  const round = async (n: number) => {
    while (rounds.length < n) await passUntil(clock, systemClock.pause(1), 1000);
  };
  await round(1);
  await passUntil(clock, systemClock.pause(1), 1);
  deepEqual(health.list(), ["old tasks could not be removed: The database is locked"]);
  locked = false;
  await round(2);
  ok((rounds[1] ?? 0) - (rounds[0] ?? 0) < 60_000, "not only after the usual five minutes");
  while (health.list().length > 0) await passUntil(clock, systemClock.pause(1), 1);
});

/** A catalog in which triggers say how long their records are kept. */
function catalogOf(retention: Readonly<Record<string, Record<string, string>>>): Catalog {
  return new Catalog(
    Object.entries(retention).map(([name, own]) => ({
      kind: "Trigger",
      project: "default",
      name,
      metadata: {},
      spec: {
        event: { source: "webhook" },
        action: { workflow: "ci", workspace: "repo" },
        retention: own,
      },
      generation: 1,
      createdAt: 1,
      updatedAt: 1,
    })),
  );
}

/** Stores delivery `n` of the trigger `private`, which its filter held back. */
async function held(store: Store, n: number, receivedAt: number): Promise<void> {
  const event = admitted({ outcome: "filtered", reason: "" });
  await store.recordDelivery(newDelivery(n, { trigger: "private", receivedAt }, [event]));
}

Deno.test(
  skippable(
    "retention of single triggers: a shorter and a longer time, and that of all others",
    NOT_SLOW,
  ),
  async () => {
    await using r = await rig();
    for (const [n, trigger] of ["short", "long", "push", "gone"].entries()) {
      await r.ended(n, trigger);
    }
    const catalog = catalogOf({ short: { tasks: "2h" }, long: { tasks: "60d" } });
    const keep = { tasksMs: 30 * DAY_MS, bodiesMs: 0, perTrigger: 0 };
    const round = () => prune({ ...r.host, catalog, keep }, new AbortController().signal);
    r.clock.time += 2 * 3600_000 + 1;
    await round();
    deepEqual(await r.tasks(), [1, 2, 3], "below a day");
    deepEqual(await r.deliveries(), [0, 1, 2, 3], "they make duplicates known for a day");
    equal(r.logs().length, 3);
    r.clock.time += DAY_MS;
    await round();
    deepEqual(await r.deliveries(), [1, 2, 3]);
    r.clock.time += 29 * DAY_MS;
    await round();
    deepEqual([await r.tasks(), await r.deliveries()], [[1], [1]], "also of one that is no more");
    r.clock.time += 30 * DAY_MS;
    await round();
    deepEqual([await r.tasks(), await r.deliveries(), r.logs()], [[], [], []]);
  },
);

Deno.test(
  skippable(
    "retention of bodies: by trigger and by the setting, a page at a time, each once",
    NOT_SLOW,
  ),
  async () => {
    let calls = 0;
    await using r = await rig();
    const store: RetentionHost["store"] = {
      ...r.host.store,
      deleteBodies: (options) => {
        calls += 1;
        return r.store.deleteBodies(options);
      },
    };
    const catalog = catalogOf({ private: { bodies: "1h" } });
    const bodies = new Bodies({ store, clock: r.host.clock });
    const round = (bodiesMs: number) =>
      prune(
        { ...r.host, store, catalog, keep: { tasksMs: 0, bodiesMs, perTrigger: 0 } },
        new AbortController().signal,
        bodies,
      );
    const left = async () => {
      const all = await Promise.all(
        (await r.deliveries()).map((n) => r.store.readDelivery(idOf(n))),
      );
      return all.flatMap((one) => one?.content === undefined ? [] : [one.delivery.trigger]);
    };
    for (let n = 0; n < 120; n++) await held(r.store, n, r.clock.time);
    await r.ended(200, "push");
    await r.ended(201, "private");
    await accept(r.store, 202, { trigger: "private", receivedAt: r.clock.time });
    await round(0);
    deepEqual(calls, 0, "nothing is old enough");
    r.clock.time += 3600_000 + 1;
    await round(0);
    deepEqual(await left(), ["push", "private"], "what waits keeps its body");
    const before = calls;
    await round(0);
    equal(calls - before, 1, "what is done is not looked at again, only what waits");
    await r.store.cancelTask(taskIdOf(202), { reason: "", now: r.clock.time });
    r.clock.time += 3600_000 + 1;
    await round(2 * 3600_000);
    deepEqual(await left(), []);
    equal((await r.deliveries()).length, 123, "the records stay");
    ok(r.logged.some((line) => line.includes('"bodies":121')), r.logged.join("\n"));
  },
);

/** Gives task `n` a turn in the session of this key, and makes its home; gives its id. */
async function session(r: Rig, n: number, key: string): Promise<string> {
  await accept(r.store, n, { receivedAt: r.clock.time });
  await r.store.claimTasks(1, r.clock.time);
  const agents = [{ name: "coder" }];
  const asked = { taskId: taskIdOf(n), position: 0, project: "default", agents, session: key };
  const turn = await r.store.takeTurn({ ...asked, now: r.clock.time });
  ok(turn.is === "held" && turn.session !== undefined);
  await Deno.mkdir(`${r.dirs.sessions}/${turn.session.id}`, { recursive: true });
  return turn.session.id;
}

Deno.test("retention of sessions: the old ones go with their homes, those in use stay", async () => {
  await using r = await rig();
  const [old, used] = [await session(r, 1, "old"), await session(r, 2, "used")];
  await r.store.endTurn(taskIdOf(1), 5);
  r.clock.time += 10 * DAY_MS;
  const late = await session(r, 3, "late");
  await r.store.endTurn(taskIdOf(3), 5);
  const left = () => [...Deno.readDirSync(r.dirs.sessions)].map(({ name }) => name).sort();
  const rows = async () =>
    (await r.store.findSessions([old, used, late])).map(({ id }) => id).sort();
  await r.prune({ tasksMs: 0, bodiesMs: 0, perTrigger: 0 });
  deepEqual(left(), [old, used, late].sort(), "tasks are kept for ever");
  await r.prune({ tasksMs: 10 * DAY_MS, bodiesMs: 0, perTrigger: 0 });
  deepEqual(left(), [old, used, late].sort(), "not a moment too early");
  r.clock.time += 1;
  await r.prune({ tasksMs: 10 * DAY_MS, bodiesMs: 0, perTrigger: 0 });
  deepEqual(left(), [used, late].sort());
  deepEqual(await rows(), [used, late].sort());
  ok(r.logged.some((line) => line.includes('"sessions":1')), r.logged.join("\n"));
});

Deno.test("retention of sessions: a home without its session goes, whatever was kept from it before", async () => {
  await using r = await rig();
  const mine = await session(r, 1, "mine");
  const strange = ["NOTES", "a b"];
  for (const name of [STUCK, "zz-left", ...strange]) await Deno.mkdir(`${r.dirs.sessions}/${name}`);
  await r.prune({ tasksMs: 0, bodiesMs: 0, perTrigger: 0 });
  const left = [...Deno.readDirSync(r.dirs.sessions)].map(({ name }) => name).sort();
  deepEqual(left, [mine, STUCK, ...strange].sort());
  ok(r.logged.some((line) => line.includes("could not be removed") && line.includes(STUCK)));
});
