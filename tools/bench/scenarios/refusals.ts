/**
 * Filtered and refused requests must be at least as fast as accepted ones, and a flood of bad
 * signatures must leave a limited amount on disk.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { compare, subjectOf } from "../compare.ts";
import { checked, type LoadResult } from "../load.ts";
import { costOf, type ProcessorTime } from "../processor_time.ts";
import type { Scenario } from "../scenario.ts";
import { requestTo, startBusySite } from "../site.ts";

/** Number of records of refused requests that svc keeps for a trigger. */
const KEPT = 1000;
const MEASUREMENTS = ["accepted", "filtered", "refused"] as const;

/** The values of a kind of requests. */
type Served = LoadResult & {
  readonly cost: ProcessorTime;
  /** Number of records of refused requests after the run. */
  readonly kept: number;
};

/** Filtered requests and bad signatures. */
export const refusals: Scenario = {
  name: "refusals",
  title: "filtered requests and bad signatures, against accepts",
  run: (context) =>
    compare<typeof MEASUREMENTS[number], Served>({ ...context, baseline: undefined }, {
      measurements: MEASUREMENTS,
      async open(program) {
        const daemon = await startBusySite(program);
        const shape = { connections: 64, seconds: context.seconds };
        const serve = (trigger: string, wrong = false) =>
          costOf(daemon.pid, async () => {
            const result = await context.load.run(requestTo(daemon.url, trigger, wrong), shape);
            const kept = rejectionsIn(`${daemon.dataDir}/svc.db`);
            return { ...checked(result, wrong ? "refused" : "accepted"), kept };
          }, ({ answers }) => answers);
        const accepted = () => serve("accept");
        const measurements = {
          accepted,
          filtered: () => serve("filter"),
          refused: () => serve("accept", true),
        };
        return subjectOf(daemon, measurements, accepted); // to warm up
      },
      figures: ({ accepted, filtered, refused }) => [
        { name: "filtered", unit: "/s", value: filtered.perSecond },
        { name: "processor time per filtered", unit: "µs", value: filtered.cost.own },
        {
          name: "filtered ÷ accepted",
          unit: "×",
          value: filtered.perSecond / accepted.perSecond,
          target: { atLeast: 1 },
        },
        { name: "bad signatures", unit: "/s", value: refused.perSecond },
        { name: "processor time per bad signature", unit: "µs", value: refused.cost.own },
        {
          name: "bad signatures ÷ accepted",
          unit: "×",
          value: refused.perSecond / accepted.perSecond,
          target: { atLeast: 1 },
        },
        {
          name: "records that bad signatures left",
          unit: "",
          value: refused.kept,
          target: { atMost: KEPT },
        },
      ],
    }),
};

function rejectionsIn(path: string): number {
  using db = new DatabaseSync(path, { readOnly: true });
  const row = db.prepare("SELECT count(*) AS n FROM deliveries WHERE outcome = 'rejected'").get();
  return Number(row?.["n"]);
}
