/**
 * The effect on accepts of removing old tasks and deliveries and of freeing disk space: the slowest
 * accepts during the removal compared with the slowest ones without it.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import type { DataDirectory, TestDaemon } from "../../tests/helpers/daemon.ts";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import { until } from "../../tests/helpers/until.ts";
import { checked } from "./load.ts";
import { pacedLoad } from "./load_generator.ts";
import type { BenchContext, Figure } from "./scenario.ts";
import { requestTo, startBusySite } from "./site.ts";
import { percentile } from "./stats.ts";

/** Accepts a second during the measurement. */
const RATE = 200;

/** Number of rows that retention removes at once, and the interval of retention here. */
const STEP = { limit: 50, times: 100 };
const TARGET = { atMost: 50 } as const;

/** Starts a daemon on a full database, of which it is to keep little. */
export async function measureUpkeep(
  context: BenchContext,
  directory: DataDirectory,
): Promise<readonly Figure[]> {
  return [
    ...await besideAccepts(context, directory),
    ...await eachStep(`${directory.path}/svc.db`),
  ];
}

async function besideAccepts(
  { program, rounds, seconds, note }: BenchContext,
  directory: DataDirectory,
): Promise<readonly Figure[]> {
  const args = ["--keep-tasks-for", "1d"];
  await using daemon = await startBusySite(program, { directory, args });
  const shape = { connections: 16, seconds, rate: RATE };
  const latencies = async () => {
    const result = await pacedLoad(requestTo(daemon.url, "accept"), shape);
    checked(result, "accepted");
    return result.latenciesMs;
  };
  const before = await latencies();
  const stored = oldTasks(daemon);
  note("waiting for the removal of old tasks to begin");
  await until("the removal of old tasks", () => oldTasks(daemon) < stored || undefined, 120_000);
  const start = { tasks: oldTasks(daemon), at: performance.now() };
  const during: Float64Array[] = [];
  for (let round = 0; round < rounds; round++) during.push(await latencies());
  const removed = (start.tasks - oldTasks(daemon)) / ((performance.now() - start.at) / 1000);
  const [vacuumed, vacuum] = await Promise.all([latencies(), daemon.svc(["db", "vacuum"])]);
  if (vacuum.code !== 0) throw new Error(`svc db vacuum: ${vacuum.stderr}`);
  const of = (times: readonly Float64Array[], part: number) =>
    times.map((one) => percentile(one, part));
  return [
    { name: "tasks removed a second", unit: "/s", samples: [removed] },
    {
      name: "slowest accept before the removal",
      unit: "ms",
      samples: of([before], 1),
      detail: true,
    },
    {
      name: "slowest accept meanwhile",
      unit: "ms",
      target: TARGET,
      samples: of(during, 1),
    },
    {
      name: "slowest accept during db vacuum",
      unit: "ms",
      target: TARGET,
      samples: of([vacuumed], 1),
    },
  ];
}

/**
 * The time that each step of the removal blocks the only writing thread, which is the longest wait
 * for it.
 */
async function eachStep(path: string): Promise<readonly Figure[]> {
  let tookMs = 0;
  await using store = await openStore(path, { onBatch: (batch) => tookMs = batch.tookMs });
  const slowest = async (step: () => Promise<unknown>) => {
    const times: number[] = [];
    for (let n = 0; n < STEP.times; n++) {
      await step();
      times.push(tookMs);
    }
    return Math.max(...times);
  };
  const { limit } = STEP;
  const before = Date.now();
  const steps = {
    "tasks by age": () => store.pruneTasks({ before, limit }),
    "tasks beyond a number": () => store.pruneTasks({ before: 0, keep: 10, limit }),
    "deliveries": () => store.pruneDeliveries({ before, limit }),
    "pages given back": () => store.reclaimSpace({ maxBytes: 1024 * 1024 }),
  };
  const figures: Figure[] = [];
  for (const [name, step] of Object.entries(steps)) {
    figures.push({
      name: `slowest step of removal: ${name}`,
      unit: "ms",
      samples: [await slowest(step)],
      detail: true,
    });
  }
  const all = figures.flatMap(({ samples }) => samples);
  const most = { unit: "ms", samples: [Math.max(...all)], target: TARGET } as const;
  return [{ name: "slowest step of the removal", ...most }, ...figures];
}

/** The number of copies that are left. */
function oldTasks({ dataDir }: TestDaemon): number {
  using db = new DatabaseSync(`${dataDir}/svc.db`, { readOnly: true });
  return Number(db.prepare("SELECT count(*) AS n FROM tasks WHERE id < '01HV'").get()?.["n"]);
}
