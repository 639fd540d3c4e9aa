/**
 * Accepts of 10,000 triggers, all called equally often, compared with a daemon that has a few: in
 * processor time, which other work on the machine changes least. The first call of each trigger is
 * measured apart, because it prepares what the trigger needs for all others.
 *
 * @module
 */

import { checked } from "../load.ts";
import { costOf } from "../processor_time.ts";
import type { Scenario } from "../scenario.ts";
import { benchTrigger, requestTo, sendOne, startBusySite } from "../site.ts";
import { ratios, run } from "../stats.ts";

const TRIGGERS = 10_000;
/** Number of triggers in a file. */
const AT_ONCE = 5000;
const CONNECTIONS = 64;

/** Accepts with many triggers. */
export const manyTriggers: Scenario = {
  name: "triggers",
  title: "accepts with 10,000 triggers, against a few",
  async run({ rounds, seconds, program, load, note }) {
    const names = Array.from({ length: TRIGGERS }, (_, n) => `t${n}`);
    await using few = await startBusySite(program);
    await using many = await startBusySite(program);
    note(`applying ${TRIGGERS} triggers`);
    const start = performance.now();
    for (let from = 0; from < TRIGGERS; from += AT_ONCE) { // a file may have 4 MiB
      const some = names.slice(from, from + AT_ONCE);
      await many.apply(...some.map((name) => benchTrigger(name)));
    }
    const appliedMs = performance.now() - start;
    const shape = { connections: CONNECTIONS, seconds };
    const measure = ({ url, pid }: Site, triggers: string | readonly string[]) =>
      costOf(
        pid,
        async () => checked(await load.run(requestTo(url, triggers), shape), "accepted"),
        ({ answers }) => answers,
      );
    const measurements = {
      few: () => measure(few, "accept"),
      many: () => measure(many, names),
    };
    for (const { url } of [few, many]) await load.run(requestTo(url, "accept"), shape); // warm up
    const first = await callEach(many, names);
    const later = await callEach(many, names);
    for (let n = 0; n < 2; n++) await callEach(few, names.map(() => "accept"));
    await run(1, measurements);
    const found = await run(rounds * 2, measurements);
    const rates = (of: typeof found.few) => of.map(({ perSecond }) => perSecond);
    const costs = (of: typeof found.few) => of.map(({ cost }) => cost.own);
    return [
      { name: "applying 10,000 triggers", unit: "ms", samples: [appliedMs] },
      { name: "accepts with a few triggers", unit: "/s", samples: rates(found.few) },
      { name: "accepts with 10,000 triggers", unit: "/s", samples: rates(found.many) },
      {
        name: "processor time with a few triggers",
        unit: "µs",
        samples: costs(found.few),
      },
      {
        name: "processor time with 10,000 triggers",
        unit: "µs",
        samples: costs(found.many),
      },
      {
        name: "a few ÷ 10,000 triggers, processor time",
        unit: "×",
        target: { atLeast: 0.95 },
        samples: ratios(costs(found.few), costs(found.many)),
      },
      {
        name: "first call of each trigger ÷ a later one, processor time",
        unit: "×",
        samples: [first / later],
      },
    ];
  },
};

/** A daemon under load. */
type Site = Awaited<ReturnType<typeof startBusySite>>;

/** Calls each of these triggers once; returns the microseconds of processor time of each call. */
async function callEach({ url, pid }: Site, triggers: readonly string[]): Promise<number> {
  const open = triggers.values();
  const { cost } = await costOf(pid, async () => {
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        for (const trigger of open) await sendOne(requestTo(url, trigger));
      }),
    );
    return {};
  }, () => triggers.length);
  return cost.own;
}
