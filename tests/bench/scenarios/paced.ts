/**
 * How long a sender waits when the daemon is half busy, checkpoints included: at a fixed rate,
 * whether answers come or not. Beside it the pipeline without a database at the same rate: what is
 * left there is the doing of this machine, the client and the garbage collector.
 *
 * @module
 */

import { checked } from "../load.ts";
import { pacedLoad } from "../load_generator.ts";
import type { Scenario } from "../scenario.ts";
import { startPipelineWithoutStore } from "../server_process.ts";
import { requestTo, startBusySite } from "../site.ts";
import { percentile, run } from "../stats.ts";

/** Latency at half of the full rate. */
export const paced: Scenario = {
  name: "paced",
  title: "how long accepts take at half of the full rate",
  async run({ rounds, seconds, program, load }) {
    const { runs } = await run(rounds, {
      async runs() {
        await using daemon = await startBusySite(program);
        const request = requestTo(daemon.url, "accept");
        const shape = { connections: 64, seconds };
        await load.run(request, shape); // warm up
        const full = checked(await load.run(request, shape), "accepted").perSecond;
        const half = { connections: 64, seconds: seconds * 2, rate: full / 2 };
        const result = await pacedLoad(request, half);
        checked(result, "accepted");
        await using server = await startPipelineWithoutStore();
        const bare = requestTo(server.url, "accept");
        await load.run(bare, shape); // warm up
        return {
          full,
          reached: result.perSecond,
          p99: result.p99Ms,
          bareP99: checked(await pacedLoad(bare, half), "accepted").p99Ms,
          p50: percentile(result.latenciesMs, 0.5),
          worst: percentile(result.latenciesMs, 1),
        };
      },
    });
    const of = (key: "reached" | "p50" | "p99" | "worst" | "bareP99") =>
      runs.map((run) => run[key]);
    return [
      { name: "accepts at half of the full rate", unit: "/s", samples: of("reached") },
      { name: "median at half of the full rate", unit: "ms", samples: of("p50") },
      {
        name: "p99 at half of the full rate",
        unit: "ms",
        samples: of("p99"),
        target: { atMost: 10 },
      },
      { name: "slowest at half of the full rate", unit: "ms", samples: of("worst") },
      { name: "p99 without a database, same rate", unit: "ms", samples: of("bareP99") },
    ];
  },
};
