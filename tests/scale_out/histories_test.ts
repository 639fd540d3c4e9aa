/**
 * Histories of a cluster in which connections to the database break at random, in half of them right
 * after commits only, while nodes die and come back: in the end no task is `running` that nobody
 * runs, and each that was accepted has ended once. The nodes are workers in this process, with
 * stores, leases and steps of their own. Chance begins with the number of a history, which a failure
 * names.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { NO_LIMITS } from "../rigs/run_rig.ts";
import { withTaskRunning } from "../../src/daemon/execution.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import { HeldLease } from "../../src/storage/held_lease.ts";
import { withAnnouncements } from "../../src/store/store_methods.ts";
import { reliableMs } from "../../src/store/lease.ts";
import { Hints } from "../../src/store/postgres/hints/hints.ts";
import { openPostgresStore } from "../../src/store/postgres/open_store.ts";
import type { Store } from "../../src/store/store.ts";
import type { NewTask } from "../../src/store/task_records.ts";
import { Planner } from "../../src/tasks/plan.ts";
import { openWorker } from "../../src/tasks/run/worker.ts";
import { inheritEnv } from "../../src/tasks/step/inherited_env.ts";
import { times } from "../helpers/program.ts";
import { createTestDatabase, postgresTest } from "../helpers/postgres.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { within } from "../helpers/within.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";
import { Random } from "../helpers/random.ts";
import { executionState } from "../rigs/execution_state.ts";
import { Books } from "../rigs/books.ts";
import { Cable } from "../rigs/cable.ts";
import { StepJournal } from "../rigs/step_journal.ts";

/** The shortest that there is. */
const LEASE_MS = 10_000;
const NODES = ["a", "b", "c"] as const;
const WORKERS = 2;
const TASKS = 12;
/** How long connections break, and how many of the chances to break one are taken. */
const FAULTS_MS = 2000;
const BREAKS = 0.08;
/** One history in so many has a node die. */
const DEATHS = 4;
const HISTORIES = times(8, 2);
/** Histories at the same time: each has some thirty connections, and three nodes in this one process. */
const AT_ONCE = 3;
/** How long one may take on a machine that has nothing else to do. */
const MOST_MS = 30_000;
/**
 * How long no task may be claimed, given back or ended while some are left: six times a lease. A busy
 * machine makes a history slow, because leases run out there: it moves on all the same.
 */
const STANDSTILL_MS = 6 * LEASE_MS;

/** A node, from its start to its death or the end of the history. */
interface Node extends AsyncDisposable {
  readonly store: Store;
  readonly logged: readonly string[];
  /** What it runs, and whether it may. */
  says(): string;
}

/** Starts a node as a daemon starts it, over this cable. */
async function startNode(node: string, run: string, cable: Cable): Promise<Node> {
  await using opening = new AsyncDisposableStack();
  const { state, logged, ...base } = await executionState([]);
  opening.defer(() => base[Symbol.asyncDispose]());
  const { events, health, clock, log } = state;
  const lease = new HeldLease({
    clock,
    events,
    health,
    log,
    guard: { beat: () => {} },
    place: "here",
    reliableMs: reliableMs(LEASE_MS),
  });
  const opened = opening.use(
    await openPostgresStore({
      url: cable.url,
      owner: { node, run },
      clock,
      leaseMs: LEASE_MS,
      listener: lease,
    }),
  );
  const store = withAnnouncements(opened, events);
  opening.use(new Hints({ events, log, clock, url: cable.url, env: () => undefined }));
  const { dirs } = state;
  const env = (name: string) => Deno.env.get(name);
  const stepEnv = inheritEnv(env, { bin: dirs.bin, extra: [] });
  const running = withTaskRunning({ ...state, store, lease, logs: opened.logs }, {
    ...NO_LIMITS,
    stepEnv,
    env,
  });
  const host = { ...running, workers: WORKERS, isFollowed: () => false };
  const worker = opening.use(await openWorker(host));
  worker.listen();
  const open = opening.move();
  const says = () => {
    const { running, shortage = "nothing" } = worker.load();
    const its = lease.isOver() ? "its lease is over" : "it has its lease";
    return `${node} runs ${JSON.stringify(running)}, is short of ${shortage}, ${its}`;
  };
  return { store, logged, says, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** What breaks connections in a history, while it is on. */
class Faults {
  readonly #random: Random;
  readonly #onlyAfterCommits: boolean;
  readonly #away = new Map<Cable, Promise<void>>();
  isOn = false;

  constructor(random: Random, { onlyAfterCommits }: { onlyAfterCommits: boolean }) {
    this.#random = random;
    this.#onlyAfterCommits = onlyAfterCommits;
  }

  /** Breaks what passes over this cable. */
  strike(cable: Cable): void {
    cable.breakWhere((bytes, from) => {
      const isCommitted = from === "database" && bytes.includes("COMMIT\0");
      if (!this.isOn || this.#onlyAfterCommits && !isCommitted) return undefined;
      if (!this.#random.chance(isCommitted ? BREAKS : BREAKS / 20)) return undefined;
      const place = this.#random.pick(["before", "after", "away"] as const);
      if (place !== "away") return place;
      if (!this.#away.has(cable)) this.#away.set(cable, this.#goAway(cable));
      return undefined;
    });
  }

  /** The database is gone for a while, as when it crashes: right after what passes just now. */
  async #goAway(cable: Cable): Promise<void> {
    await systemClock.pause(this.#random.between(0, 3));
    await cable.cut();
    await systemClock.pause(this.#random.between(50, 1000));
    cable.mend();
    this.#away.delete(cable);
  }

  async end(): Promise<void> {
    this.isOn = false;
    await Promise.all(this.#away.values());
  }
}

/** What of a task is left to chance. */
function taskOf(n: number, random: Random): Partial<NewTask> {
  return random.pick<Partial<NewTask>>([
    {},
    { debounce: { key: String(n), forMs: random.between(100, FAULTS_MS) } },
    { concurrency: { key: "", max: 1, policy: "Queue" } },
  ]);
}

/** Stores a task by any of the nodes, as a sender does who repeats what was not answered. */
async function send(
  nodes: ReadonlyMap<string, Node>,
  n: number,
  { random, ...given }: { random: Random; plan: { hash: string; json: string } },
): Promise<void> {
  const task = taskOf(n, random);
  await until(`an answer to delivery ${n}`, async () => {
    const node = nodes.get(random.pick(NODES));
    if (node === undefined) return undefined;
    const how = { ...given, task, trigger: "beat", once: true, receivedAt: Date.now() };
    return await accept(node.store, n, how).then(() => true, () => undefined);
  });
}

async function tell(number: number): Promise<void> {
  const random = new Random(number);
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempDir());
  const { url } = stack.use(await createTestDatabase());
  const books = stack.use(new Books(url));
  const journal = new StepJournal(`${path}/journal`);
  const plan = planOf(journal);
  const faults = new Faults(random.fork(), { onlyAfterCommits: number % 2 === 0 });
  const cables = new Map(NODES.map((name) => [name, stack.use(new Cable(url))]));
  const nodes = new Map<string, Node>();
  const logged: string[] = [];
  const start = async (name: typeof NODES[number], run: number) => {
    const cable = cables.get(name);
    if (cable === undefined) throw new RangeError(name);
    const node = await startNode(name, `${name}${run}`, cable);
    nodes.set(name, node);
    faults.strike(cable);
  };
  const end = async (name: string) => {
    const node = nodes.get(name);
    nodes.delete(name);
    await node?.[Symbol.asyncDispose]();
    logged.push(...node?.logged ?? []);
  };
  stack.defer(async () => void await Promise.all(NODES.map(end)));
  for (const name of NODES) await start(name, 1);

  faults.isOn = true;
  const first = number * TASKS;
  const numbers = Array.from({ length: TASKS }, (_, index) => first + index);
  const sending = numbers.map(async (n) => {
    await systemClock.pause(random.between(0, FAULTS_MS));
    await send(nodes, n, { random, plan });
  });
  if (random.chance(1 / DEATHS)) {
    const victim = random.pick(NODES);
    await systemClock.pause(random.between(0, FAULTS_MS));
    const cable = cables.get(victim);
    cable?.breakWhere(() => "before"); // it stores nothing more
    await end(victim);
    cable?.breakWhere(() => undefined);
    if (random.chance(1 / 2)) await faults.end().then(() => start(victim, 2));
  }
  await systemClock.pause(FAULTS_MS);
  await Promise.all(sending);
  await faults.end();

  const [{ store }] = [...nodes.values()] as [Node];
  for (let [before, since] = ["", performance.now()];;) {
    const left = JSON.stringify(await books.left());
    if (left === "[]") break;
    if (left !== before) [before, since] = [left, performance.now()];
    if (performance.now() - since > STANDSTILL_MS) {
      const says = [...nodes.values()].map((node) => node.says()).join("; ");
      throw new Error(`nothing has moved for ${STANDSTILL_MS} ms, left: ${left}; ${says}`);
    }
    await systemClock.pause(100);
  }
  const tasks = await store.listTasks({ limit: 999 });
  deepEqual(tasks.map(({ id }) => id).toSorted(), numbers.map(taskIdOf).toSorted());
  deepEqual(tasks.filter(({ state }) => state !== "succeeded"), []);
  await books.agree();
  deepEqual(await journal.overlaps(), [], "no step beside its successor");
  const done = new Set((await journal.runs()).filter((run) => run.isDone).map((run) => run.taskId));
  deepEqual(tasks.filter(({ id }) => !done.has(id)), [], "each ran to its end");
  for (const name of NODES) await end(name);
  const ended = logged.filter((line) => line.includes('"task ended"'))
    .map((line) => JSON.parse(line).task);
  equal(new Set(ended).size, ended.length, "none ended twice");
}

/** The plan of a task that writes into the journal. */
function planOf(journal: StepJournal): { hash: string; json: string } {
  const manifests = [
    ...journal.manifests(0.3),
    { kind: "Workspace", metadata: { name: "default" }, spec: { path: "repo" } },
  ];
  const resources = manifestResources(manifests.map((one) => JSON.stringify(one)).join("\n---\n"));
  const catalog = new Catalog(resources);
  const trigger = catalog.find<TriggerSpec>("Trigger", "default", "beat");
  const plan = trigger && new Planner(catalog).plan(trigger).plan;
  if (plan === undefined) throw new Error("no plan");
  return plan;
}

postgresTest(
  "connections break at random: no task is left in state running without a daemon that runs it",
  async () => {
    const left = Array.from({ length: HISTORIES.count }, (_, index) => index + 1);
    const failed: string[] = [];
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (let number = left.shift(); number !== undefined; number = left.shift()) {
        const history = number;
        await within(MOST_MS, tell(history)).catch((error) =>
          failed.push(`history ${history}: ${error.stack}`)
        );
      }
    }));
    equal(failed.join("\n\n"), "");
  },
);
