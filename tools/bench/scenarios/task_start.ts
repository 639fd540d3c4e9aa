/**
 * The time from a request to the first byte of the process of the task's first step.
 *
 * @module
 */

import { workflow } from "../../../tests/helpers/manifests.ts";
import { compare, type Subject, subjectOf } from "../compare.ts";
import { firstByteMs, makePipe } from "../first_byte.ts";
import type { BenchContext, Scenario } from "../scenario.ts";
import { benchTrigger, requestTo, startSite } from "../site.ts";
import { percentile } from "../stats.ts";

/** Milliseconds of one task after the other. */
type Waits = readonly number[];

/** The start of a task on an idle daemon. */
export const taskStart: Scenario = {
  name: "start",
  title: "from a request to the first byte of its first step",
  run: (context) =>
    compare<"first", Waits>(context, {
      measurements: ["first"],
      open: (program) => speaker(program, context.size === "quick" ? 10 : 50),
      figures: ({ first }) => [
        {
          name: "request → first byte, median",
          unit: "ms",
          value: percentile(first, 0.5),
          target: { atMost: 20 },
        },
        { name: "request → first byte, p95", unit: "ms", value: percentile(first, 0.95) },
      ],
    }),
};

async function speaker(
  program: BenchContext["program"],
  times: number,
): Promise<Subject<"first", Waits>> {
  const more = [
    workflow("speak", 'printf x > "$SVC_DATA_DIR/first"'),
    benchTrigger("speak", { workflow: "speak" }),
  ];
  const daemon = await startSite(program, { more });
  const pipe = `${daemon.dataDir}/first`;
  const request = requestTo(daemon.url, "speak");
  return subjectOf(daemon, {
    async first() {
      for (let n = 0; n < 10; n++) await firstByteMs(pipe, request); // warm up
      const waits: number[] = [];
      for (let n = 0; n < times; n++) waits.push(await firstByteMs(pipe, request));
      return waits;
    },
  }, () => makePipe(pipe));
}
