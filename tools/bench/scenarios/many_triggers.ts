/**
 * Accepts of 10,000 triggers, all called equally often, compared with a daemon that has one
 * trigger.
 *
 * @module
 */

import { checked } from "../load.ts";
import type { Scenario } from "../scenario.ts";
import { benchTrigger, requestTo, startBusySite } from "../site.ts";
import { ratios, run } from "../stats.ts";

const TRIGGERS = 10_000;
/** Number of triggers in a file. */
const AT_ONCE = 5000;

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
    const shape = { connections: 64, seconds };
    const rate = async (url: string, triggers: string | readonly string[]) =>
      checked(await load.run(requestTo(url, triggers), shape), "accepted").perSecond;
    const measurements = {
      few: () => rate(few.url, "accept"),
      many: () => rate(many.url, names),
    };
    await run(1, measurements); // warm up
    const found = await run(rounds * 2, measurements);
    return [
      { name: "applying 10,000 triggers", unit: "ms", samples: [appliedMs] },
      { name: "accepts with a few triggers", unit: "/s", samples: found.few },
      { name: "accepts with 10,000 triggers", unit: "/s", samples: found.many },
      {
        name: "10,000 triggers ÷ a few",
        unit: "×",
        target: { atLeast: 0.95 },
        samples: ratios(found.many, found.few),
      },
    ];
  },
};
