/**
 * PostgreSQL crashes under daemons that are under load, or stays away for a while: what was answered
 * 200 is stored, senders get 503 meanwhile, and the daemons go on by themselves.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { TestDaemon } from "../helpers/daemon.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { type PrivateServer, startPostgres } from "../helpers/postgres_server.ts";
import { ONE_PROGRAM, times } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { Books } from "../rigs/books.ts";
import { type Cluster, startCluster } from "../rigs/cluster.ts";
import { Pushes, signedPush, SIGNING } from "../rigs/pushes.ts";
import { alive, repeated, StepJournal } from "../rigs/step_journal.ts";
import { judge, repeatedUnderLease } from "../rigs/cluster_verdict.ts";

/** Pushes that are under way when the database crashes. */
const CROWD = 16;

/** Daemons over a PostgreSQL of their own. */
interface Site {
  readonly server: PrivateServer;
  readonly cluster: Cluster;
  readonly journal: StepJournal;
}

/** Starts them, with a trigger whose one step takes so long. */
async function startSite(
  stack: AsyncDisposableStack,
  { daemons, lease, stepSecs }: { daemons: number; lease: string; stepSecs: number },
): Promise<Site> {
  const { path } = stack.use(await tempDir());
  const server = stack.use(await startPostgres());
  await server.sql((db) => db.exec("CREATE DATABASE svc"));
  const database = `postgres://svc@127.0.0.1:${server.port}/svc`;
  const args = ["--workers", "4", "--lease", lease];
  const cluster = stack.use(await startCluster(ONE_PROGRAM, daemons, { args, database }));
  const journal = new StepJournal(`${path}/journal`);
  const [store, webhook] = SIGNING;
  await cluster.daemons[0]?.apply(store, ...journal.manifests(stepSecs, webhook));
  return { server, cluster, journal };
}

/** What every daemon answers while the database is away. */
async function expectRefusals({ daemons }: Cluster): Promise<void> {
  for (const daemon of daemons) {
    const answer = await daemon.send("/webhook/beat", signedPush(crypto.randomUUID()));
    deepEqual([answer.status, answer.headers.get("retry-after")], [503, "5"], daemon.log);
  }
}

const CRASHES = times(4, 2);

postgresTest(
  `crashes of the database: what was answered 200 is stored, and runs once${CRASHES.inName}`,
  async () => {
    await using stack = new AsyncDisposableStack();
    const site = await startSite(stack, { daemons: 3, lease: "60s", stepSecs: 0.6 });
    const { server, cluster, journal } = site;
    const pushes = new Pushes(cluster);
    try {
      for (let crash = 0; crash < CRASHES.count; crash++) {
        const crowd = pushes.burst(CROWD);
        await pause(Math.random() * 60);
        await server.crash();
        await expectRefusals(cluster);
        await server.start();
        await crowd;
        await pause(Math.random() * 500);
      }
    } finally {
      await pushes.stop();
    }
    ok((pushes.answers["503"] ?? 0) > 0, "pushes were under way when the database crashed");
    await using books = new Books(cluster.database);
    const tasks = await judge({ cluster, books, journal, pushes });
    deepEqual(tasks.filter(({ restarts }) => restarts > 0), []);
    deepEqual(await repeatedUnderLease(cluster, journal), [], "no step was interrupted");
  },
);

/**
 * What becomes of steps while the database is away. On a busy machine a lease may end once more: a
 * step that it interrupts runs again then, too.
 */
const ABSENCES = [
  { name: "a third of a lease: no step is interrupted", lease: 30, awayMs: 9000, isLong: false },
  { name: "0.9 leases: each step runs again, to one end", lease: 10, awayMs: 9000, isLong: true },
  { name: "1.5 leases: each step runs again, to one end", lease: 10, awayMs: 15_000, isLong: true },
] as const;

for (const { name, lease, awayMs, isLong } of ABSENCES) {
  postgresTest(`the database is away for ${name}`, async () => {
    await using stack = new AsyncDisposableStack();
    const site = await startSite(stack, { daemons: 2, lease: `${lease}s`, stepSecs: 12 });
    const { server, cluster, journal } = site;
    const [a, b] = cluster.daemons as [TestDaemon, TestDaemon];
    for (const daemon of [a, b, a, b, a, b]) {
      equal((await daemon.send("/webhook/beat", signedPush(crypto.randomUUID()))).status, 200);
    }
    const begun = async () => await journal.runs();
    await until("every step", async () => (await begun()).length === 6 || undefined);

    await server.crash();
    const since = Date.now();
    if (isLong) {
      await until("their end", async () => (await alive(await begun())).length === 0 || undefined);
    }
    await pause(awayMs - (Date.now() - since));
    await server.start();
    await until("the database", async () => (await a.svc(["status"])).code === 0 || undefined);

    const tasks = await a.settled();
    deepEqual(tasks.map(({ state }) => state), tasks.map(() => "succeeded"));
    deepEqual(await journal.overlaps(), []);
    const runs = await begun();
    deepEqual(await repeatedUnderLease(cluster, journal), []);
    const interrupted = repeated(runs).map(([run]) => run);
    deepEqual(interrupted.filter(({ isDone }) => isDone), [], "no step runs again that had ended");
    deepEqual(
      new Set(interrupted.map(({ taskId }) => taskId)),
      new Set(isLong ? runs.map(({ taskId }) => taskId) : []),
    );
    equal(runs.filter(({ isDone }) => isDone).length, tasks.length);
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
