/**
 * How long it takes until the process of a task's first step writes its first byte: from the moment
 * the request is sent, which is earlier than the commit, so the figure is on the safe side.
 *
 * @module
 */

import type { Scenario } from "../scenario.ts";
import { workflow } from "../../helpers/manifests.ts";
import { benchTrigger, requestTo, sendOne, startSite } from "../site.ts";
import { percentile } from "../stats.ts";

/** The start of a task on an idle daemon. */
export const taskStart: Scenario = {
  name: "start",
  title: "from a request to the first byte of its first step",
  async run({ rounds, size, program }) {
    const each = size === "quick" ? 10 : 40;
    const more = [
      workflow("speak", 'printf x > "$SVC_DATA_DIR/first"'),
      benchTrigger("speak", { workflow: "speak" }),
    ];
    await using daemon = await startSite(program, { more });
    const pipe = `${daemon.dataDir}/first`;
    const { success } = await new Deno.Command("mkfifo", { args: [pipe] }).output();
    if (!success) throw new Error("mkfifo failed");
    using reader = await Deno.open(pipe, { read: true, write: true }); // else it would wait for a writer
    const byte = new Uint8Array(1);
    const request = requestTo(daemon.url, "speak");
    const one = async () => {
      const start = performance.now();
      const first = reader.read(byte).then(() => performance.now());
      await sendOne(request);
      const answered = performance.now();
      const spoken = await first;
      await new Promise((resolve) => setTimeout(resolve, 30)); // back to idle
      return { whole: spoken - start, after: Math.max(0, spoken - answered) };
    };
    for (let n = 0; n < 10; n++) await one(); // warm up
    const runs: { whole: number; after: number }[][] = [];
    for (let round = 0; round < rounds; round++) {
      const times: { whole: number; after: number }[] = [];
      for (let n = 0; n < each; n++) times.push(await one());
      runs.push(times);
    }
    const of = (key: "whole" | "after", part: number) =>
      runs.map((times) => percentile(times.map((time) => time[key]), part));
    return [
      {
        name: "request → first byte, median",
        unit: "ms",
        target: { atMost: 20 },
        samples: of("whole", 0.5),
      },
      { name: "request → first byte, p95", unit: "ms", samples: of("whole", 0.95) },
      { name: "answer → first byte, median", unit: "ms", samples: of("after", 0.5) },
    ];
  },
};
