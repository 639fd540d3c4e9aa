/**
 * Claims of eight tasks over PostgreSQL, from a long queue and from a short one.
 *
 * @module
 */

import { systemClock } from "../../../src/base/clock.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/store/postgres/open_store.ts";
import { createTestDatabase } from "../../../tests/helpers/postgres.ts";
import { withPostgres } from "../database.ts";
import type { BenchContext, Figure, Scenario } from "../scenario.ts";
import { median, ratios, run } from "../stats.ts";
import { newDelivery } from "../store_deliveries.ts";

const AT_ONCE = 8;
/** Number of claims of a measurement, which together take only a part of the short queue. */
const CLAIMS = 12;
const SHORT = 1000;
const LONG = { quick: 10_000, usual: 100_000, long: 100_000 } as const;
/** Number of tasks that are stored in one batch. */
const BATCH = 500;

export const claims: Scenario = {
  name: "claims",
  title: "claims over PostgreSQL, of 100,000 tasks that wait and of 1,000",
  run: (context) => withPostgres(context, () => measure(context)),
};

async function measure({ rounds, size, note }: BenchContext): Promise<readonly Figure[]> {
  await using opened = new AsyncDisposableStack();
  const queueOf = async (waiting: number) => {
    const { url } = opened.use(await createTestDatabase());
    const owner = { node: "bench", run: "bench" };
    const store = opened.use(await openPostgresStore({ url, owner, clock: systemClock }));
    for (let stored = 0; stored < waiting; stored += BATCH) {
      const send = () => store.recordDelivery(newDelivery());
      await Promise.all(Array.from({ length: BATCH }, send));
    }
    return store;
  };
  const long = LONG[size].toLocaleString("en");
  note(`storing ${long} tasks`);
  const queues = { short: await queueOf(SHORT), long: await queueOf(LONG[size]) };
  const measurements = {
    short: () => claimMs(queues.short),
    long: () => claimMs(queues.long),
  };
  await run(1, measurements); // warm up
  const found = await run(rounds, measurements);
  return [
    { name: `claim of ${AT_ONCE}, 1,000 wait`, unit: "ms", samples: found.short },
    { name: `claim of ${AT_ONCE}, ${long} wait`, unit: "ms", samples: found.long },
    {
      name: `${long} ÷ 1,000`,
      unit: "×",
      target: { atMost: 1.5 },
      samples: ratios(found.long, found.short),
    },
  ];
}

async function claimMs(store: PostgresStore): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < CLAIMS; n++) {
    const start = performance.now();
    const { tasks } = await store.claimTasks(AT_ONCE, systemClock.now());
    times.push(performance.now() - start);
    if (tasks.length !== AT_ONCE) throw new Error(`${tasks.length} tasks were claimed`);
  }
  return median(times);
}
