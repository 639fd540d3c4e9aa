/**
 * The rate of queued tasks that do nothing, with their files in memory and on disk, compared with
 * the rate at which this machine starts as many processes at once through the same function.
 *
 * @module
 */

import type { DaemonOptions, TestDaemon } from "../../../tests/helpers/daemon.ts";
import type { Program } from "../../../tests/helpers/program.ts";
import { until } from "../../../tests/helpers/until.ts";
import { compare, type RoundFigure, type Subject } from "../compare.ts";
import { checked } from "../load.ts";
import { findMemory, openInMemory } from "../memory_directory.ts";
import { costOf, type ProcessorTime, whole } from "../processor_time.ts";
import type { BenchContext, Scenario } from "../scenario.ts";
import { countTasks, releaseWorkers, requestTo, startBusySite } from "../site.ts";
import { measureSpawns } from "../spawns.ts";

/** Number of tasks at once. */
const WORKERS = 16;
const OPEN = ["pending", "running"] as const;
const TASKS = { quick: 500, usual: 1500, long: 10_000 } as const;

const MEASUREMENTS = ["memory", "disk"] as const;
type Measurement = typeof MEASUREMENTS[number];

interface Drained {
  readonly perSecond: number;
  /** Processor time of each task; absent for spawns. */
  readonly cost?: ProcessorTime;
}

export const drain: Scenario = {
  name: "drain",
  title: "queued tasks that do nothing, against bare spawns of processes",
  run(context) {
    const memory = findMemory(context);
    return compare<Measurement, Drained>(context, {
      measurements: MEASUREMENTS,
      open: (program) =>
        only({
          memory: async () => {
            if (memory === undefined) return { perSecond: NaN };
            await using place = await openInMemory(program, memory);
            return await drainOnce(context, program, place);
          },
          disk: () => drainOnce(context, program),
        }),
      beside: {
        spawns: () => {
          const spawn = () => measureSpawns({ atOnce: WORKERS, spawns: TASKS[context.size] });
          return only({ memory: spawn, disk: spawn });
        },
      },
      figures: ({ memory, disk }, { spawns }) => [
        ...figuresOf("in memory", memory, spawns?.memory, {
          share: { target: { atLeast: 0.65 } },
          cost: { change: { atMost: 0.6 } },
        }),
        ...figuresOf("on disk", disk, spawns?.disk, { rate: { change: { atLeast: 1.2 } } }),
      ],
    });
  },
};

/** The targets of a place of the files. */
type Targets = Readonly<
  Partial<Record<"rate" | "share" | "cost", Pick<RoundFigure, "target" | "change">>>
>;

function figuresOf(
  place: string,
  { perSecond, cost }: Drained,
  spawns: Drained | undefined,
  targets: Targets,
): readonly RoundFigure[] {
  const bare = spawns?.perSecond ?? NaN;
  return [
    { name: `bare spawns, ${WORKERS} at once`, unit: "/s", value: bare, shared: true },
    {
      name: `no-op tasks, files ${place}`,
      unit: "/s",
      value: perSecond,
      inDocs: true,
      ...targets.rate,
    },
    { name: "tasks ÷ spawns", unit: "×", value: perSecond / bare, ...targets.share },
    { name: "processor time per task", unit: "µs", value: whole(cost), ...targets.cost },
    { name: "of it the daemon's", unit: "µs", value: cost?.own ?? NaN },
  ];
}

/** A subject that runs only during its measurement. */
function only(
  measurements: Record<Measurement, () => Promise<Drained>>,
): Promise<Subject<Measurement, Drained>> {
  return Promise.resolve({ measurements, [Symbol.asyncDispose]: () => Promise.resolve() });
}

async function drainOnce(
  { load, size }: BenchContext,
  program: Program,
  options: DaemonOptions = {},
): Promise<Drained> {
  const tasks = TASKS[size];
  await using daemon = await startBusySite(program, { ...options, workers: WORKERS });
  for (let queued = 0; queued < tasks; queued = countTasks(daemon, OPEN) - 2 * WORKERS) {
    checked(
      await load.run(requestTo(daemon.url, "accept"), { connections: 16, seconds: 1 }),
      "accepted",
    );
  }
  const queued = countTasks(daemon, OPEN);
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
    const open = countTasks(daemon, OPEN);
    return open <= Math.max(0, most) ? { open, at: performance.now() } : undefined;
  }, 600_000);
}
