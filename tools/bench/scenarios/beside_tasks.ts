/**
 * Accepts while tasks run, compared with accepts while none runs: every start of a process may hold
 * the daemon's only thread. For how long is measured beside it, without a daemon.
 *
 * @module
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestDaemon } from "../../../tests/helpers/daemon.ts";
import { workflow } from "../../../tests/helpers/manifests.ts";
import { ROOT } from "../../../tests/helpers/program.ts";
import { compare, type Subject, subjectOf } from "../compare.ts";
import { checked } from "../load.ts";
import { pacedLoad } from "../load_generator.ts";
import { findMemory, openInMemory } from "../memory_directory.ts";
import type { BenchContext, Scenario } from "../scenario.ts";
import { benchTrigger, countTasks, requestTo, sendOne, startSite } from "../site.ts";
import { percentile } from "../stats.ts";

/** Tasks a second. */
const RATE = 50;
const WORKERS = 8;
const MEASUREMENTS = ["alone", "beside"] as const;
type Measurement = typeof MEASUREMENTS[number];

/** The values of accepts, or of starts without a daemon. */
interface Measured {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** Tasks that ended, a second. */
  readonly tasks: number;
  /** How long each start held the event loop. */
  readonly heldMs?: readonly number[];
}

export const besideTasks: Scenario = {
  name: "beside",
  title: "accepts while 50 tasks a second run, against none",
  run(context) {
    const memory = findMemory(context);
    return compare<Measurement, Measured>(context, {
      measurements: MEASUREMENTS,
      async open(program) {
        await using opening = new AsyncDisposableStack();
        const place = memory === undefined ? {} : opening.use(await openInMemory(program, memory));
        const daemon = opening.use(await startSite(program, { ...place, ...HELD }));
        await sendOne(requestTo(daemon.url, "held"));
        const measurements = {
          alone: () => accepts(context, daemon, 0),
          beside: () => accepts(context, daemon, RATE),
        };
        await measurements.beside(); // to warm up
        return subjectOf(opening.move(), measurements);
      },
      beside: { loop: () => Promise.resolve(heldLoop(context)) },
      figures: ({ alone, beside }, { loop }) => [
        { name: "accepts while no task runs", unit: "/s", value: alone.perSecond },
        { name: `accepts while ${RATE} tasks a second run`, unit: "/s", value: beside.perSecond },
        { name: "tasks that ran", unit: "/s", value: beside.tasks },
        {
          name: "accepts beside tasks ÷ alone",
          unit: "×",
          value: beside.perSecond / alone.perSecond,
          target: { atLeast: 0.85 },
        },
        { name: "p99 of these while no task runs", unit: "ms", value: alone.p99Ms },
        { name: "p99 of these beside tasks", unit: "ms", value: beside.p99Ms },
        {
          name: "event loop held by a start, median",
          unit: "ms",
          value: percentile(loop?.beside?.heldMs ?? [], 0.5),
          shared: true,
        },
        {
          name: "event loop held by a start, p99",
          unit: "ms",
          value: percentile(loop?.beside?.heldMs ?? [], 0.99),
          shared: true,
          target: { atMost: 1 },
        },
      ],
    });
  },
};

/**
 * The accepts go to a trigger with a `Queue` whose first task never ends, so that theirs only wait
 * while the workers run others.
 */
const HELD = {
  args: ["--workers", String(WORKERS)],
  more: [
    workflow("hold", "exec sleep 3600"),
    benchTrigger("held", { workflow: "hold", concurrency: { policy: "Queue" } }),
  ],
};

async function accepts(
  { load, seconds }: BenchContext,
  daemon: TestDaemon,
  tasks: number,
): Promise<Measured> {
  const before = countTasks(daemon, ["succeeded"]);
  const started = performance.now();
  const [result] = await Promise.all([
    load.run(requestTo(daemon.url, "held"), { connections: 64, seconds: seconds * 2 }),
    tasks === 0 ? undefined : pacedLoad(
      requestTo(daemon.url, "accept"),
      { connections: 8, seconds: seconds * 2, rate: tasks },
    ),
  ]);
  const ended = countTasks(daemon, ["succeeded"]) - before;
  const { perSecond, p99Ms } = checked(result, "accepted");
  return { perSecond, p99Ms, tasks: ended / ((performance.now() - started) / 1000) };
}

/** A program from the sources that starts lines as the daemon does. */
function heldLoop({ size }: BenchContext): Subject<Measurement, Measured> {
  const program = fileURLToPath(new URL("../held_loop_program.ts", import.meta.url));
  const starts = size === "quick" ? 50 : 400;
  return {
    measurements: {
      async beside() {
        const { stdout } = await new Deno.Command(Deno.execPath(), {
          args: [
            "run",
            "--quiet",
            "--no-check",
            "--allow-all",
            "--config",
            join(ROOT, "deno.json"),
            program,
            String(starts),
            String(1000 / RATE),
          ],
          stdin: "null",
          stderr: "inherit",
        }).output();
        const heldMs = JSON.parse(new TextDecoder().decode(stdout)) as number[];
        return { perSecond: NaN, p99Ms: NaN, tasks: NaN, heldMs };
      },
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
