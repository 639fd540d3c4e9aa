/**
 * Daemons over one PostgreSQL: accepts of a single daemon compared with a daemon with SQLite,
 * accepts of three daemons on this machine, the time until a task starts at another node, and until
 * it runs again after the death of its node.
 *
 * @module
 */

import { Connections } from "../../../src/store/postgres/database/connections.ts";
import type { TestDaemon } from "../../../tests/helpers/daemon.ts";
import { type Manifest, workflow } from "../../../tests/helpers/manifests.ts";
import { tempDir } from "../../../tests/helpers/temp_dir.ts";
import { until } from "../../../tests/helpers/until.ts";
import { startCluster } from "../../../tests/rigs/cluster.ts";
import { databaseTime, processesOf, withPostgres } from "../database.ts";
import { firstByteMs, makePipe } from "../first_byte.ts";
import { checked } from "../load.ts";
import { processorTime } from "../processor_time.ts";
import type { BenchContext, Figure, Scenario } from "../scenario.ts";
import {
  benchTrigger,
  keepWorkersBusy,
  MANIFEST,
  requestTo,
  sendOne,
  startBusySite,
} from "../site.ts";
import { percentile, ratios, run } from "../stats.ts";

const CONNECTIONS = 64;
const OWNER = { node: "bench", run: "bench" };
const LEASE_MS = 10_000;
const IDLE_MS = { quick: 3000, usual: 20_000, long: 60_000 } as const;

export const nodes: Scenario = {
  name: "nodes",
  title: "daemons over one PostgreSQL: accepts of one and of three, tasks elsewhere, a takeover",
  run: (context) =>
    withPostgres(context, async () => [
      ...await measureAccepts(context),
      ...await measurePair(context),
      ...await measureTakeover(context),
    ]),
};

/** The values of daemons that all got requests. */
interface Accepts {
  readonly perSecond: number;
  /** Processor time of the daemons for an accept, in microseconds. */
  readonly cost: number;
  /** Processor time of the processes of their database for an accept, in microseconds. */
  readonly databaseCost: number;
}

async function measureAccepts(context: BenchContext): Promise<readonly Figure[]> {
  const { program, rounds } = context;
  await using opened = new AsyncDisposableStack();
  const sharing = async (count: number) => {
    const args = ["--workers", "1", "--log-level", "warn"];
    const { daemons, database } = opened.use(
      await startCluster(program, count, { args, direct: true }),
    );
    await daemons[0]?.apply(...MANIFEST);
    if (daemons[0] !== undefined) await keepWorkersBusy(daemons[0], count);
    const connections = opened.use(new Connections({ url: database, owner: OWNER, max: 1 }));
    return () => accepts(context, daemons, connections);
  };
  const alone = opened.use(await startBusySite(program));
  const measurements = {
    file: () => accepts(context, [alone]),
    one: await sharing(1),
    three: await sharing(3),
  };
  await run(1, measurements); // warm up
  const found = await run(rounds, measurements);
  const of = (name: keyof typeof measurements, field: keyof Accepts) =>
    found[name].map((one) => one[field]);
  const compared = (name: "one" | "three", field: keyof Accepts, by: keyof typeof measurements) =>
    ratios(of(name, field), of(by, field));
  return [
    { name: "accepts, SQLite", unit: "/s", samples: of("file", "perSecond") },
    { name: "accepts, PostgreSQL", unit: "/s", samples: of("one", "perSecond") },
    {
      name: "accepts, PostgreSQL ÷ SQLite",
      unit: "×",
      target: { atLeast: 0.55 },
      samples: compared("one", "perSecond", "file"),
    },
    { name: "processor time, SQLite", unit: "µs", samples: of("file", "cost") },
    { name: "processor time, PostgreSQL", unit: "µs", samples: of("one", "cost") },
    {
      name: "processor time, PostgreSQL ÷ SQLite",
      unit: "×",
      samples: compared("one", "cost", "file"),
    },
    { name: "of the database's processes", unit: "µs", samples: of("one", "databaseCost") },
    { name: "accepts, three daemons", unit: "/s", samples: of("three", "perSecond") },
    {
      name: "accepts, three daemons ÷ one",
      unit: "×",
      inDocs: true,
      samples: compared("three", "perSecond", "one"),
    },
    { name: "processor time of the three", unit: "µs", samples: of("three", "cost") },
    { name: "of the database's processes", unit: "µs", samples: of("three", "databaseCost") },
  ];
}

/** Sends requests to all daemons at once, with the same number of senders for each. */
async function accepts(
  { load, seconds }: BenchContext,
  daemons: readonly TestDaemon[],
  connections?: Connections,
): Promise<Accepts> {
  const processes = connections === undefined ? [] : await processesOf(connections);
  const shape = { connections: Math.round(CONNECTIONS / daemons.length), seconds };
  const had = () => [
    daemons.reduce((sum, { pid }) => sum + processorTime(pid).own, 0),
    databaseTime(processes),
  ];
  const before = had();
  const sent = await Promise.all(
    daemons.map(async ({ url }) =>
      checked(await load.run(requestTo(url, "accept"), shape), "accepted")
    ),
  );
  const answers = sent.reduce((sum, one) => sum + one.answers, 0);
  const [cost = NaN, databaseCost = NaN] = had().map((ms, at) =>
    ((ms - (before[at] ?? NaN)) * 1000) / answers
  );
  return { perSecond: sent.reduce((sum, one) => sum + one.perSecond, 0), cost, databaseCost };
}

/** Two daemons, idle except for a task now and then, which runs at one of them. */
async function measurePair(context: BenchContext): Promise<readonly Figure[]> {
  const { program, rounds, size } = context;
  await using opened = new AsyncDisposableStack();
  const pipe = `${opened.use(await tempDir()).path}/first`;
  await makePipe(pipe);
  const args = ["--log-level", "warn"];
  const { daemons, database } = opened.use(await startCluster(program, 2, { args, direct: true }));
  const [first] = daemons;
  if (first === undefined) throw new Error("no daemon");
  await first.apply(
    ...MANIFEST,
    workflow("speak", `printf x > "${pipe}"`),
    ...placed("here", "a"),
    ...placed("there", "b"),
  );
  const connections = opened.use(new Connections({ url: database, owner: OWNER, max: 1 }));
  const waits = async (trigger: string) => {
    const times: number[] = [];
    for (let n = 0; n < (size === "quick" ? 10 : 50); n++) {
      times.push(await firstByteMs(pipe, requestTo(first.url, trigger)));
    }
    return times;
  };
  const measurements = { here: () => waits("here"), there: () => waits("there") };
  await run(1, measurements); // warm up
  const found = await run(rounds, measurements);
  const idleMs = IDLE_MS[size];
  const idle = await run(rounds, {
    async transactions() {
      const before = await transactionsOf(connections);
      await pause(idleMs);
      const made = await transactionsOf(connections) - before;
      return made / (idleMs / 1000) / daemons.length;
    },
  });
  const medians = (name: keyof typeof measurements) =>
    found[name].map((times) => percentile(times, 0.5));
  return [
    {
      name: "idle, transactions a node",
      unit: "/s",
      samples: idle.transactions,
      target: { atMost: 8 },
    },
    { name: "request → first byte, same node", unit: "ms", samples: medians("here") },
    { name: "request → first byte, another node", unit: "ms", samples: medians("there") },
    {
      name: "another ÷ same",
      unit: "×",
      samples: ratios(medians("there"), medians("here")),
      target: { atMost: 3 },
    },
    {
      name: "another node, p95",
      unit: "ms",
      samples: found.there.map((times) => percentile(times, 0.95)),
      target: { atMost: 60 },
    },
  ];
}

/** A trigger whose tasks run only at this node. */
function placed(name: string, node: string): readonly Manifest[] {
  return [
    {
      kind: "Workspace",
      metadata: { name },
      spec: { path: "workspaces/default", nodes: [node] },
    },
    benchTrigger(name, { workflow: "speak", workspace: name }),
  ];
}

/** The number of transactions that have ended in the database. */
async function transactionsOf(connections: Connections): Promise<number> {
  const row = await connections.use((db) =>
    db.get(
      `SELECT xact_commit + xact_rollback AS ended FROM pg_stat_database
       WHERE datname = current_database()`,
    )
  );
  return Number(row?.["ended"]);
}

async function measureTakeover({ program, rounds }: BenchContext): Promise<readonly Figure[]> {
  const { takeover } = await run(rounds, {
    async takeover() {
      await using opened = new AsyncDisposableStack();
      const journal = `${opened.use(await tempDir()).path}/journal`;
      const args = ["--lease", `${LEASE_MS / 1000}s`, "--log-level", "warn"];
      const { daemons } = opened.use(await startCluster(program, 2, { args, direct: true }));
      const [first] = daemons;
      await first?.apply(
        ...MANIFEST,
        workflow("stay", `echo "$SVC_DATA_DIR" >> "${journal}"; sleep 600`),
        benchTrigger("stay", { workflow: "stay" }),
      );
      if (first !== undefined) await sendOne(requestTo(first.url, "stay"));
      const runs = (count: number) =>
        until("the task", async () => {
          const text = await Deno.readTextFile(journal).catch(() => "");
          const lines = text.split("\n").slice(0, -1);
          return lines.length === count ? lines : undefined;
        });
      const [at] = await runs(1);
      await pause(LEASE_MS); // for so long nobody counts as dead
      const start = performance.now();
      await daemons.find(({ dataDir }) => dataDir === at)?.crash();
      await runs(2);
      return performance.now() - start;
    },
  });
  return [{
    name: `takeover after kill -9, lease ${LEASE_MS / 1000} s`,
    unit: "ms",
    samples: takeover,
    target: { atMost: LEASE_MS + 2000 },
  }];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
