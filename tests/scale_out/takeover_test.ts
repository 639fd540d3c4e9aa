/**
 * Daemons over one database that are killed, stopped, or cut off while steps run: nothing of theirs
 * runs on when another daemon takes their tasks over, and each task ends once.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { TestDaemon } from "../helpers/daemon.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import type { Cable } from "../rigs/cable.ts";
import { startCluster } from "../rigs/cluster.ts";
import { alive, StepJournal } from "../rigs/step_journal.ts";

const LEASE_MS = 10_000;
/** Until a daemon that was killed has left nothing: well within a second, on a machine that is not busy. */
const GONE_MS = 8000;
/** Until its tasks run elsewhere: a lease and two seconds, on a machine that is not busy. */
const TAKEN_MS = LEASE_MS + 15_000;

/** Two daemons that both run tasks. */
interface Site {
  readonly a: TestDaemon;
  readonly b: TestDaemon;
  readonly cableOfA: Cable;
  readonly journal: StepJournal;
}

/** A test with tasks that take so long and run at both daemons. */
function takeoverTest(name: string, seconds: number, body: (site: Site) => Promise<void>): void {
  postgresTest(name, async () => {
    await using stack = new AsyncDisposableStack();
    const { path } = stack.use(await tempDir());
    const args = ["--workers", "3", "--lease", "10s"];
    const { daemons, cables } = stack.use(await startCluster(ONE_PROGRAM, 2, { args }));
    const [[a, b], [cableOfA]] = [daemons, cables];
    ok(a !== undefined && b !== undefined && cableOfA !== undefined);
    const journal = new StepJournal(`${path}/journal`);
    await a.apply(...journal.manifests(seconds));
    for (let n = 0; n < 6; n++) {
      const daemon: TestDaemon = n % 2 === 0 ? a : b;
      const { status, text } = await daemon.send("/webhook/beat", { body: `{"n":${n}}` });
      equal(status, 200, text);
    }
    await until("steps at both", async () => {
      const [ofA, ofB] = [await journal.runsOf(a), await journal.runsOf(b)];
      return ofA.length === 3 && ofB.length === 3 || undefined;
    });
    await body({ a, b, cableOfA, journal });
  });
}

/** Each task has succeeded once, and no two of its runs were there at the same time. */
async function eachEndedOnce({ b, journal }: Site, taken: readonly string[]): Promise<void> {
  const tasks = await b.settled();
  deepEqual(tasks.map(({ state, reason }) => [state, reason]), tasks.map(() => ["succeeded", ""]));
  deepEqual(await journal.overlaps(), []);
  const runs = await journal.runs();
  deepEqual(runs.filter(({ isDone }) => isDone).length, tasks.length, "each to its end, once");
  deepEqual(
    tasks.filter(({ restarts }) => restarts > 0).map(({ id }) => id).toSorted(),
    taken.toSorted(),
  );
}

takeoverTest(
  "kill -9: the steps end at once, and run elsewhere after the lease",
  4,
  async (site) => {
    const { a, b, journal } = site;
    const killedAt = Date.now();
    const taken = (await journal.runsOf(a)).map(({ taskId }) => taskId);
    await a.crash();
    await until(
      "the end of its steps",
      async () => (await alive(await journal.runsOf(a))).length === 0 || undefined,
      GONE_MS,
    );
    await eachEndedOnce(site, taken);
    const again = (await journal.runsOf(b)).filter(({ taskId }) => taken.includes(taskId));
    const late = again.map(({ from }) => from - killedAt).filter((ms) => ms > TAKEN_MS);
    deepEqual(late, []);
  },
);

takeoverTest("SIGSTOP: what a daemon says after its lease is refused", 14, async (site) => {
  const { a, b, journal } = site;
  const taken = (await journal.runsOf(a)).map(({ taskId }) => taskId);
  a.signal("SIGSTOP");
  try {
    await until("its tasks elsewhere", async () => {
      const ofB = (await journal.runsOf(b)).map(({ taskId }) => taskId);
      return taken.every((id) => ofB.includes(id)) || undefined;
    });
    deepEqual(await alive(await journal.runsOf(a)), []);
  } finally {
    a.signal("SIGCONT");
  }
  await until("its lease", async () => {
    const { code, stdout } = await a.svc(["status"]);
    return code === 0 && !/lease of this node/.test(stdout) || undefined;
  });
  await eachEndedOnce(site, taken);
  await until("the note", () => a.log.includes("task given up") || undefined);
  ok(!/ERROR .*could not be stored|failed inside/.test(a.log), a.log);
});

takeoverTest("a daemon that cannot reach the database ends its steps", 8, async (site) => {
  const { a, b, cableOfA, journal } = site;
  const taken = (await journal.runsOf(a)).map(({ taskId }) => taskId);
  cableOfA.hold();
  const heldAt = Date.now();
  await until(
    "the end of its steps",
    async () => (await alive(await journal.runsOf(a))).length === 0 || undefined,
    LEASE_MS,
  );
  ok(Date.now() - heldAt > LEASE_MS / 4, "not for a short break");
  await until("its tasks elsewhere", async () => {
    const ofB = (await journal.runsOf(b)).map(({ taskId }) => taskId);
    return taken.every((id) => ofB.includes(id)) || undefined;
  });
  const runsOfA = (await journal.runsOf(a)).length;
  cableOfA.release();
  await eachEndedOnce(site, taken.filter((id) => !a.log.includes(`ended task=${id}`)));
  equal((await journal.runsOf(a)).length, runsOfA, "it ran nothing meanwhile");
  const { status } = await a.send("/webhook/beat", { body: '{"n":"after"}' });
  equal(status, 200);
});
