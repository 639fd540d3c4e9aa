/**
 * How long a sender waits when the daemon is half busy, checkpoints included: at a fixed rate, whether
 * answers come or not.
 *
 * @module
 */

import { checked } from "../load.ts";
import { pacedLoad } from "../own_load.ts";
import type { Scenario } from "../scenario.ts";
import { requestTo, startBusySite } from "../site.ts";
import { inTurn, percentile } from "../stats.ts";

/** Latency at half of the full rate. */
export const paced: Scenario = {
  name: "paced",
  title: "how long accepts take at half of the full rate",
  async run({ rounds, seconds, program, load }) {
    const { runs } = await inTurn(rounds, {
      async runs() {
        await using daemon = await startBusySite(program);
        const request = requestTo(daemon.url, "accept");
        const shape = { connections: 64, seconds };
        await load.run(request, shape); // warm up
        const full = checked(await load.run(request, shape), "accepted").perSecond;
        const half = { connections: 64, seconds: seconds * 2, rate: full / 2 };
        const result = await pacedLoad(request, half);
        checked(result, "accepted");
        return {
          ...{ full, reached: result.perSecond, p99: result.p99Ms },
          p50: percentile(result.latenciesMs, 0.5),
          worst: percentile(result.latenciesMs, 1),
        };
      },
    });
    const of = (key: "reached" | "p50" | "p99" | "worst") => runs.map((run) => run[key]);
    return [
      { name: "accepts at half of the full rate", unit: "/s", samples: of("reached") },
      { name: "median at half of the full rate", unit: "ms", samples: of("p50") },
      {
        ...{ name: "p99 at half of the full rate", unit: "ms", samples: of("p99") },
        target: { atMost: 10 },
      },
      { name: "slowest at half of the full rate", unit: "ms", samples: of("worst") },
    ];
  },
};
