/**
 * 10,000 queued tasks that do nothing, against the rate at which this machine starts processes
 * through the same function with as many at once.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { type Program } from "../../helpers/program.ts";
import type { TestDaemon } from "../../helpers/daemon.ts";
import { until } from "../../helpers/until.ts";
import { checked, type LoadClient } from "../load.ts";
import type { Scenario } from "../scenario.ts";
import { releaseWorkers, requestTo, startBusySite } from "../site.ts";
import { measureSpawns } from "../spawns.ts";
import { ratios, run } from "../stats.ts";

/** Tasks at once: what the daemon does here when nothing is said, and many. */
const WORKERS = [4, 16] as const;
const TASKS = { quick: 1000, usual: 10_000, long: 10_000 } as const;

/** The drain of a queue. */
export const drain: Scenario = {
  name: "drain",
  title: "queued tasks that do nothing, against bare spawns of processes",
  async run({ rounds, size, program, load }) {
    const tasks = TASKS[size];
    const spawns = tasks / 4;
    const found = await run(rounds, {
      spawns4: () => bareRate(4, spawns),
      tasks4: () => drainRate({ program, load, tasks, workers: 4 }),
      spawns16: () => bareRate(16, spawns),
      tasks16: () => drainRate({ program, load, tasks: spawns, workers: 16 }),
    });
    return WORKERS.flatMap((workers) => {
      const [spawns, rates] = [found[`spawns${workers}`], found[`tasks${workers}`]];
      return [
        { name: `bare spawns, ${workers} at once`, unit: "/s", samples: spawns },
        { name: `tasks, ${workers} workers`, unit: "/s", samples: rates },
        {
          name: `tasks ÷ spawns, ${workers} at once`,
          unit: "×",
          target: { atLeast: 0.5 },
          samples: ratios(rates, spawns),
        },
      ] as const;
    });
  },
};

async function drainRate({ program, load, tasks, workers }: {
  program: Program;
  load: LoadClient;
  tasks: number;
  workers: number;
}): Promise<number> {
  await using daemon = await startBusySite(program, { workers });
  for (let queued = 0; queued < tasks; queued = openTasks(daemon) - workers) {
    checked(
      await load.run(requestTo(daemon.url, "accept"), { connections: 16, seconds: 1 }),
      "accepted",
    );
  }
  const queued = openTasks(daemon);
  await releaseWorkers(daemon);
  const start = performance.now();
  const left = Math.max(0, queued - tasks);
  let [open, now] = [queued, start];
  await until("the end of the queue", () => {
    [open, now] = [openTasks(daemon), performance.now()];
    return open <= left ? true : undefined;
  }, 600_000);
  return (queued - open) / ((now - start) / 1000);
}

function openTasks({ dataDir }: TestDaemon): number {
  using db = new DatabaseSync(`${dataDir}/svc.db`, { readOnly: true });
  const sql = "SELECT count(*) AS n FROM tasks WHERE state IN ('pending', 'running')";
  return Number(db.prepare(sql).get()?.["n"]);
}

async function bareRate(atOnce: number, spawns: number): Promise<number> {
  return (await measureSpawns({ atOnce, spawns })).perSecond;
}
