/**
 * Memory and descriptors under a mixed load: accepts with running tasks, duplicates, filtered
 * requests and bad signatures. It lasts 90 seconds, by when memory is stable, or ten minutes with
 * `--long`.
 *
 * @module
 */

import { descriptors, residentMb } from "../machine.ts";
import { pacedLoad } from "../load_generator.ts";
import type { Scenario } from "../scenario.ts";
import { requestTo, startSite } from "../site.ts";
import { median } from "../stats.ts";

const SECONDS = { quick: 10, usual: 90, long: 600 } as const;
/** Requests a second of each kind. */
const RATES = { accept: 50, github: 50, filter: 100, wrong: 100 } as const;

export const mixedLoad: Scenario = {
  name: "mixed",
  title: "memory under a mixed load",
  async run({ size, program, note }) {
    const seconds = SECONDS[size];
    note(`${seconds} s of mixed load`);
    await using daemon = await startSite(program);
    const samples: { mb: number; open: number }[] = [];
    const sample = async () =>
      samples.push({ mb: await residentMb(daemon.pid), open: descriptors(daemon.pid) });
    await sample();
    const timer = setInterval(() => void sample(), 1000);
    try {
      await Promise.all([
        ...(["accept", "github", "filter"] as const).map((name) =>
          pacedLoad(requestTo(daemon.url, name), { connections: 8, seconds, rate: RATES[name] })
        ),
        pacedLoad(requestTo(daemon.url, "accept", true), {
          connections: 8,
          seconds,
          rate: RATES.wrong,
        }),
      ]);
    } finally {
      clearInterval(timer);
    }
    await daemon.settled(300_000);
    await sample();
    const [first] = samples;
    const quarter = Math.floor(samples.length / 4);
    const middle = (from: number, to: number) =>
      median(samples.slice(from, to).map(({ mb }) => mb));
    const [third, last] = [
      middle(2 * quarter, 3 * quarter),
      middle(3 * quarter, samples.length),
    ];
    return [
      { name: "resident in the last quarter", unit: "MB", samples: [last] },
      {
        name: "last quarter ÷ third quarter",
        unit: "×",
        samples: [last / third],
        target: { atMost: 1.1 },
      },
      {
        name: "descriptors more at the end",
        unit: "",
        samples: [(samples.at(-1)?.open ?? NaN) - (first?.open ?? NaN)],
        target: { atMost: 5 },
      },
    ];
  },
};
