/**
 * The processor time that open pages cost a daemon: each watches the newest deliveries, the state
 * of the daemon and its figures, while a few requests a second arrive.
 *
 * @module
 */

import type { TestDaemon } from "../../../tests/helpers/daemon.ts";
import { until } from "../../../tests/helpers/until.ts";
import { compare, subjectOf } from "../compare.ts";
import { pacedLoad } from "../load_generator.ts";
import { processorTime } from "../processor_time.ts";
import type { Scenario } from "../scenario.ts";
import { requestTo, sendOne, startSite } from "../site.ts";

/** Requests a second: enough that every update has changes. */
const RATE = 5;
const SECONDS = { quick: 2, usual: 15, long: 30 } as const;
const MEASUREMENTS = ["none", "one", "twenty"] as const;

/** Processor time of open pages. */
export const openPages: Scenario = {
  name: "pages",
  title: "processor time of open pages",
  run: (context) =>
    compare<typeof MEASUREMENTS[number], number>({ ...context, baseline: undefined }, {
      measurements: MEASUREMENTS,
      async open(program) {
        const daemon = await startSite(program);
        const seconds = SECONDS[context.size];
        const measurements = {
          none: () => costOf(daemon, 0, seconds),
          one: () => costOf(daemon, 1, seconds),
          twenty: () => costOf(daemon, 20, seconds),
        };
        return subjectOf(daemon, measurements, async () => {
          for (let n = 0; n < 500; n++) await sendOne(requestTo(daemon.url, "filter"));
          await costOf(daemon, 20, 2); // to warm up
        });
      },
      figures: ({ none, one, twenty }) => [
        { name: "no page, processor time a second", unit: "ms", value: none },
        { name: "one page more", unit: "ms", value: one - none, target: { atMost: 10 } },
        { name: "twenty pages more", unit: "ms", value: twenty - none, target: { atMost: 60 } },
      ],
    }),
};

/** Milliseconds of processor time of the daemon in a second, with this number of pages. */
async function costOf(daemon: TestDaemon, pages: number, seconds: number): Promise<number> {
  await using opened = new AsyncDisposableStack();
  for (let n = 0; n < pages; n++) opened.use(await openPage(daemon));
  const load = () =>
    pacedLoad(requestTo(daemon.url, "filter"), { connections: 1, seconds, rate: RATE });
  const [start, begun] = [processorTime(daemon.pid).own, performance.now()];
  await load();
  const used = processorTime(daemon.pid).own - start;
  return used / ((performance.now() - begun) / 1000);
}

async function openPage(daemon: TestDaemon): Promise<AsyncDisposable> {
  const client = daemon.client();
  const stop = new AbortController();
  const seen = new Set<string>();
  const subjects = [
    { key: "deliveries", get: { what: "deliveries", limit: 500 } },
    { key: "status", status: true },
    { key: "stats", stats: {} },
  ] as const;
  const read = async () => {
    for await (const line of client.stream("watch", { subjects }, stop.signal)) {
      if ("key" in line) seen.add(String(line.key));
    }
  };
  const over = read().catch((error) => {
    if (!stop.signal.aborted) throw error;
  });
  await until("a page", () => seen.size === subjects.length ? true : undefined);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await over;
      client[Symbol.dispose]();
    },
  };
}
