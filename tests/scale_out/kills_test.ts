/**
 * Three daemons over one database under signed load, of which one after the other is killed, while
 * now and then one is stopped, cut off or away for longer than its lease: what was answered 200 is one
 * task with one end, and no step runs beside another run of it.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM, times } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { Books } from "../rigs/books.ts";
import { type Cluster, startCluster } from "../rigs/cluster.ts";
import { Pushes, SIGNING } from "../rigs/pushes.ts";
import { StepJournal } from "../rigs/step_journal.ts";
import { judge } from "../rigs/cluster_verdict.ts";

const NODES = ["a", "b", "c"] as const;
/** How long a step takes, in seconds. */
const STEP_SECS = 0.6;
/** Pushes that are under way when a daemon is killed. */
const CROWD = 12;
/** One node in so many kills falls silent for longer than its lease. */
const SILENT_EVERY = 4;
/** The kill at which the first one does. */
const SILENT_FIRST = 2;

/** What makes a node silent, and what ends that. */
interface Silence {
  readonly begin: (cluster: Cluster, at: number) => Promise<void> | void;
  readonly end: (cluster: Cluster, at: number) => Promise<void> | void;
}

const SILENCES: readonly [Silence, ...Silence[]] = [
  {
    begin: ({ daemons }, at) => daemons[at]?.signal("SIGSTOP"),
    end: ({ daemons }, at) => daemons[at]?.signal("SIGCONT"),
  },
  {
    begin: ({ cables }, at) => cables[at]?.hold(),
    end: ({ cables }, at) => cables[at]?.release(),
  },
  {
    begin: ({ daemons }, at) => daemons[at]?.crash(),
    end: (cluster, at) => cluster.revive(at),
  },
];

/** What happens to a cluster under load. */
class Faults {
  readonly #cluster: Cluster;
  readonly #books: Books;
  /** The node that is silent now. */
  #silent: number | undefined;
  #silence: Promise<void> = Promise.resolve();
  #silences = 0;

  constructor(cluster: Cluster, books: Books) {
    this.#cluster = cluster;
    this.#books = books;
  }

  /** Kills daemons, each with pushes under way, and starts each again at once. */
  async kill(times: number, pushes: Pushes): Promise<void> {
    try {
      for (let kill = 1; kill <= times; kill++) {
        if (kill % SILENT_EVERY === SILENT_FIRST) await this.#fallSilent();
        const victim = this.#choose();
        if (kill === 1) await this.#untilBusy(victim, pushes); // of few kills none may meet a step
        const crowd = pushes.burst(CROWD);
        await pause(Math.random() * 60);
        await this.#cluster.daemons[victim]?.crash();
        await this.#books.agree();
        await this.#cluster.revive(victim);
        await crowd;
        await pause(Math.random() * 1000);
      }
    } finally {
      await this.#silence;
    }
  }

  /** Waits until a node runs tasks. */
  async #untilBusy(at: number, pushes: Pushes): Promise<void> {
    await pushes.burst(CROWD);
    const node = NODES[at] ?? "";
    await until("tasks that it runs", async () => await this.#books.running(node) > 0 || undefined);
  }

  /** While a node is silent, one of the others lives on, so that it takes over. */
  #choose(): number {
    if (this.#silent === undefined) return Math.floor(Math.random() * NODES.length);
    return (this.#silent + 1) % NODES.length;
  }

  /** Has a node fall silent while it runs tasks, until others have taken them over. */
  async #fallSilent(): Promise<void> {
    await this.#silence;
    const { begin, end } = SILENCES[this.#silences++ % SILENCES.length] ?? SILENCES[0];
    const index = Math.floor(Math.random() * NODES.length);
    const node = NODES[index] ?? "";
    await until("tasks that it runs", async () => await this.#books.running(node) > 0 || undefined);
    await begin(this.#cluster, index);
    this.#silent = index;
    this.#silence = until(
      `the end of what ${node} ran, elsewhere`,
      async () => await this.#books.running(node) === 0 || undefined,
    ).then(() => {}).finally(async () => {
      await end(this.#cluster, index);
      this.#silent = undefined;
    });
  }
}

async function survives(kills: number): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempDir());
  const args = ["--workers", "4", "--lease", "10s"];
  const cluster = stack.use(await startCluster(ONE_PROGRAM, NODES.length, { args }));
  const books = stack.use(new Books(cluster.database));
  const journal = new StepJournal(`${path}/journal`);
  const [store, webhook] = SIGNING;
  await cluster.daemons[0]?.apply(store, ...journal.manifests(STEP_SECS, webhook));

  const pushes = new Pushes(cluster);
  try {
    await new Faults(cluster, books).kill(kills, pushes);
  } finally {
    await pushes.stop();
  }

  ok((pushes.answers["none"] ?? 0) > 0, "pushes were under way when daemons were killed");
  const tasks = await judge({ cluster, books, journal, pushes });
  ok(tasks.some(({ restarts }) => restarts > 0), "steps were running when daemons were killed");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const KILLS = times(5, 2);

postgresTest(
  `kills of daemons that share a database: each 200 is one task with one end${KILLS.inName} (${ONE_PROGRAM.name})`,
  async () => await survives(KILLS.count),
  { isLong: false },
);
