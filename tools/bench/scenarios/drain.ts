/**
 * The rate of queued tasks that do nothing, compared with the rate at which this machine starts as
 * many processes at once through the same function.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import type { TestDaemon } from "../../../tests/helpers/daemon.ts";
import type { Program } from "../../../tests/helpers/program.ts";
import { until } from "../../../tests/helpers/until.ts";
import { compare, type Subject } from "../compare.ts";
import { checked } from "../load.ts";
import { costOf, type ProcessorTime, whole } from "../processor_time.ts";
import type { BenchContext, Scenario } from "../scenario.ts";
import { releaseWorkers, requestTo, startBusySite } from "../site.ts";
import { measureSpawns } from "../spawns.ts";

/** Number of tasks at once. */
const WORKERS = 16;
const TASKS = { quick: 500, usual: 1500, long: 10_000 } as const;

interface Drained {
  readonly perSecond: number;
  /** Processor time of each task; absent for spawns. */
  readonly cost?: ProcessorTime;
}

export const drain: Scenario = {
  name: "drain",
  title: "queued tasks that do nothing, against bare spawns of processes",
  run: (context) =>
    compare<"drain", Drained>(context, {
      measurements: ["drain"],
      open: (program) => only(() => drainOnce(context, program)),
      beside: {
        spawns: () => only(() => measureSpawns({ atOnce: WORKERS, spawns: TASKS[context.size] })),
      },
      figures: ({ drain: { perSecond, cost } }, { spawns }) => {
        const bare = spawns?.drain?.perSecond ?? NaN;
        return [
          { name: `bare spawns, ${WORKERS} at once`, unit: "/s", value: bare, shared: true },
          { name: `no-op tasks, ${WORKERS} workers`, unit: "/s", value: perSecond },
          { name: "tasks ÷ spawns", unit: "×", value: perSecond / bare, target: { atLeast: 0.5 } },
          { name: "processor time per task", unit: "µs", value: whole(cost) },
          { name: "of it the daemon's", unit: "µs", value: cost?.own ?? NaN },
        ];
      },
    }),
};

/** A subject that runs only during its measurement. */
function only(measure: () => Promise<Drained>): Promise<Subject<"drain", Drained>> {
  const measurements = { drain: measure };
  return Promise.resolve({ measurements, [Symbol.asyncDispose]: () => Promise.resolve() });
}

async function drainOnce(
  { load, size }: BenchContext,
  program: Program,
): Promise<Drained> {
  const tasks = TASKS[size];
  await using daemon = await startBusySite(program, { workers: WORKERS });
  for (let queued = 0; queued < tasks; queued = openTasks(daemon) - 2 * WORKERS) {
    checked(
      await load.run(requestTo(daemon.url, "accept"), { connections: 16, seconds: 1 }),
      "accepted",
    );
  }
  const queued = openTasks(daemon);
  await releaseWorkers(daemon);
  const begin = await fallTo(daemon, queued - WORKERS); // those that kept the workers busy
  return await costOf(daemon.pid, async () => {
    const end = await fallTo(daemon, begin.open - tasks);
    const ended = begin.open - end.open;
    return { perSecond: ended / ((end.at - begin.at) / 1000), ended };
  }, ({ ended }) => ended);
}

/** Waits until at most this many tasks are open; returns the number of open tasks and the time. */
function fallTo(daemon: TestDaemon, most: number): Promise<{ open: number; at: number }> {
  return until("the end of the queue", () => {
    const open = openTasks(daemon);
    return open <= Math.max(0, most) ? { open, at: performance.now() } : undefined;
  }, 600_000);
}

function openTasks({ dataDir }: TestDaemon): number {
  using db = new DatabaseSync(`${dataDir}/svc.db`, { readOnly: true });
  const sql = "SELECT count(*) AS n FROM tasks WHERE state IN ('pending', 'running')";
  return Number(db.prepare(sql).get()?.["n"]);
}
