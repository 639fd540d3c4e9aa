/**
 * The store over PostgreSQL compared with SQLite, without a daemon: durable accepts of 64 senders,
 * the processor time of an accept here and in the database, and both with a transaction for each
 * accept.
 *
 * @module
 */

import { systemClock } from "../../../src/base/clock.ts";
import { Connections } from "../../../src/store/postgres/database/connections.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import { BatchRunner } from "../../../src/store/postgres/run_batch.ts";
import type { NewDelivery } from "../../../src/store/delivery_records.ts";
import { createTestDatabase } from "../../../tests/helpers/postgres.ts";
import { tempStore } from "../../../tests/helpers/temp_store.ts";
import { databaseTime, processesOf, withPostgres } from "../database.ts";
import { costOf } from "../processor_time.ts";
import type { BenchContext, Figure, Scenario } from "../scenario.ts";
import { ratios, run } from "../stats.ts";
import { newDelivery } from "../store_deliveries.ts";

const SENDERS = 64;
/** Connections for a transaction each. */
const CONNECTIONS = 16;
const OWNER = { node: "bench", run: "bench" };

/** The values of a store. */
interface Accepts {
  readonly perSecond: number;
  /** Processor time of this process for an accept, in microseconds. */
  readonly ownCost: number;
  /**
   * Processor time of the database's processes for an accept; NaN if there are none on this
   * machine.
   */
  readonly databaseCost: number;
}

interface Accepting {
  recordDelivery(given: NewDelivery): Promise<unknown>;
}

/** A store that does nothing, which shows the cost of making the requests. */
const NOTHING: Accepting = { recordDelivery: () => Promise.resolve() };

export const postgres: Scenario = {
  name: "postgres",
  title: "the store over PostgreSQL beside SQLite: durable accepts of 64 senders",
  run: (context) => withPostgres(context, () => measure(context)),
};

async function measure({ rounds, seconds }: BenchContext): Promise<readonly Figure[]> {
  await using file = await tempStore();
  await using database = await createTestDatabase();
  const { url } = database;
  await using store = await openPostgresStore({ url, owner: OWNER, clock: systemClock });
  await using connections = new Connections({ url, owner: OWNER, max: CONNECTIONS });
  const alone = aloneOver(connections);
  const measurements = (ms: number) => ({
    sqlite: () => accepts(file.store, { ms }),
    postgres: () => accepts(store, { ms, connections }),
    alone: () => accepts(alone, { ms, connections }),
    nothing: () => accepts(NOTHING, { ms }),
  });
  await run(1, measurements(500)); // warm up
  return figuresOf(await run(rounds, measurements(seconds * 1000)));
}

/** Runs a transaction for each request, on as many connections as a pool would have. */
function aloneOver(connections: Connections): Accepting {
  const batches = new BatchRunner({
    connections,
    handedOut: { owner: OWNER, epochOf: () => undefined, lose() {} },
    clock: systemClock,
  });
  return {
    async recordDelivery(given) {
      const [settled] = await batches.run([{ method: "recordDelivery", args: [given] }]);
      if (settled === undefined || "error" in settled) throw settled?.error;
    },
  };
}

function figuresOf(
  found: Readonly<Record<"sqlite" | "postgres" | "alone" | "nothing", readonly Accepts[]>>,
): readonly Figure[] {
  const rates = (name: keyof typeof found) => found[name].map(({ perSecond }) => perSecond);
  const costs = (name: keyof typeof found) =>
    found[name].map(({ ownCost }, round) => ownCost - (found.nothing[round]?.ownCost ?? NaN));
  return [
    { name: "accepts, SQLite", unit: "/s", samples: rates("sqlite") },
    { name: "accepts, PostgreSQL", unit: "/s", samples: rates("postgres") },
    {
      name: "accepts, PostgreSQL ÷ SQLite",
      unit: "×",
      target: { atLeast: 0.5 },
      samples: ratios(rates("postgres"), rates("sqlite")),
    },
    {
      name: "the same ÷ a transaction for each",
      unit: "×",
      target: { atLeast: 3 },
      samples: ratios(rates("postgres"), rates("alone")),
    },
    { name: "the store's processor time, SQLite", unit: "µs", samples: costs("sqlite") },
    { name: "the same, PostgreSQL", unit: "µs", samples: costs("postgres") },
    {
      name: "processor time, PostgreSQL ÷ SQLite",
      unit: "×",
      target: { atMost: 0.5 },
      samples: ratios(costs("postgres"), costs("sqlite")),
    },
    {
      name: "of the database's processes",
      unit: "µs",
      samples: found.postgres.map(({ databaseCost }) => databaseCost),
    },
  ];
}

async function accepts(
  store: Accepting,
  { ms, connections }: { readonly ms: number; readonly connections?: Connections },
): Promise<Accepts> {
  const processes = connections === undefined ? [] : await processesOf(connections);
  const before = databaseTime(processes);
  const { count, seconds, cost } = await costOf(
    "self",
    () => send(store, ms),
    (sent) => sent.count,
  );
  return {
    perSecond: count / seconds,
    ownCost: cost.own,
    databaseCost: ((databaseTime(processes) - before) * 1000) / count,
  };
}

async function send(
  store: Accepting,
  ms: number,
): Promise<{ readonly count: number; readonly seconds: number }> {
  const start = performance.now();
  let count = 0;
  await Promise.all(Array.from({ length: SENDERS }, async () => {
    for (; performance.now() - start < ms; count++) await store.recordDelivery(newDelivery());
  }));
  return { count, seconds: (performance.now() - start) / 1000 };
}
