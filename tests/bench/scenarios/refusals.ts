/**
 * What is filtered or refused has to be at least as fast as what is accepted, and what a flood of
 * bad signatures leaves on disk is bounded.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { checked } from "../load.ts";
import type { Scenario } from "../scenario.ts";
import { requestTo, startBusySite } from "../site.ts";
import { ratios, run } from "../stats.ts";

/** Records of refused requests that are kept of a trigger. */
const KEPT = 1000;

/** Filtered requests and bad signatures. */
export const refusals: Scenario = {
  name: "refusals",
  title: "filtered requests and bad signatures, against accepts",
  async run({ rounds, seconds, program, load }) {
    await using daemon = await startBusySite(program);
    const shape = { connections: 64, seconds };
    const rate = async (request: ReturnType<typeof requestTo>, expected: "accepted" | "refused") =>
      checked(await load.run(request, shape), expected).perSecond;
    const accept = () => rate(requestTo(daemon.url, "accept"), "accepted");
    await accept(); // warm up
    const found = await run(rounds, {
      accepted: accept,
      filtered: () => rate(requestTo(daemon.url, "filter"), "accepted"),
      refused: () => rate(requestTo(daemon.url, "accept", true), "refused"),
    });
    const kept = rejectionsIn(`${daemon.dataDir}/svc.db`);
    return [
      { name: "accepted", unit: "/s", samples: found.accepted },
      { name: "filtered", unit: "/s", samples: found.filtered },
      { name: "bad signature", unit: "/s", samples: found.refused },
      {
        name: "filtered ÷ accepted",
        unit: "×",
        target: { atLeast: 1 },
        samples: ratios(found.filtered, found.accepted),
      },
      {
        name: "bad signature ÷ accepted",
        unit: "×",
        target: { atLeast: 1 },
        samples: ratios(found.refused, found.accepted),
      },
      {
        name: "records that the bad signatures left",
        unit: "",
        samples: [kept],
        target: { atMost: KEPT },
      },
    ];
  },
};

function rejectionsIn(path: string): number {
  using db = new DatabaseSync(path, { readOnly: true });
  const row = db.prepare("SELECT count(*) AS n FROM deliveries WHERE outcome = 'rejected'").get();
  return Number(row?.["n"]);
}
