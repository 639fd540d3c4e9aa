/**
 * The store over PostgreSQL beside SQLite, without a daemon: durable accepts of 64 senders, what one
 * costs this process and the database, and the same with a transaction for each.
 *
 * @module
 */

import { idFactory } from "../../../src/base/ids.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { Connections } from "../../../src/store/postgres/database/connections.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import { BatchRunner } from "../../../src/store/postgres/run_batch.ts";
import type { NewDelivery } from "../../../src/store/delivery_records.ts";
import { admitted } from "../../helpers/admitted.ts";
import { createTestDatabase, hasServer } from "../../helpers/postgres.ts";
import { tempStore } from "../../helpers/temp_store.ts";
import { costOf, processorTime } from "../processor_time.ts";
import type { BenchContext, Figure, Scenario } from "../scenario.ts";
import { ratios, run } from "../stats.ts";

const SENDERS = 64;
/** For a transaction each. */
const CONNECTIONS = 16;
const OWNER = { node: "bench", run: "bench" };
const KEEP_MS = 3_600_000;

/** A request as a platform sends it: three kilobytes, of some fifteen headers. */
const BODY = new TextEncoder().encode(JSON.stringify({ text: "x".repeat(3000) }));
const HEADERS = Object.fromEntries(
  Array.from({ length: 15 }, (_, n) => [`x-header-${n}`, "value ".repeat(5)]),
);
const PLAN = {
  hash: "bench",
  json: JSON.stringify({ steps: [{ id: "build" }], prompt: "x".repeat(1500) }),
};

/** What was measured of one store. */
interface Accepts {
  readonly perSecond: number;
  /** Microseconds of processor time of this process an accept. */
  readonly ownCost: number;
  /** The same of the database's processes; NaN where it has none, or they run elsewhere. */
  readonly databaseCost: number;
}

/** What a request is given to. */
interface Accepting {
  recordDelivery(given: NewDelivery): Promise<unknown>;
}

/** Two stores. */
export const postgres: Scenario = {
  name: "postgres",
  title: "the store over PostgreSQL beside SQLite: durable accepts of 64 senders",
  run(context) {
    if (hasServer()) return measure(context);
    context.note("no PostgreSQL: SVC_TEST_POSTGRES names none");
    return Promise.resolve(figuresOf());
  },
};

async function measure({ rounds, seconds }: BenchContext): Promise<readonly Figure[]> {
  await using file = await tempStore();
  await using database = await createTestDatabase();
  const { url } = database;
  await using store = await openPostgresStore({ url, owner: OWNER, clock: systemClock });
  await using connections = new Connections({ url, owner: OWNER, max: CONNECTIONS });
  const alone = aloneOver(connections);
  const lanes = (ms: number) => ({
    sqlite: () => accepts(file.store, { ms }),
    postgres: () => accepts(store, { ms, connections }),
    alone: () => accepts(alone, { ms, connections }),
  });
  await run(1, lanes(500)); // warm up
  return figuresOf(await run(rounds, lanes(seconds * 1000)));
}

/** A transaction for each request, on as many connections at once as a pool would have. */
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
  found: Readonly<Record<"sqlite" | "postgres" | "alone", readonly Accepts[]>> = {
    sqlite: [],
    postgres: [],
    alone: [],
  },
): readonly Figure[] {
  const of = (name: keyof typeof found, field: keyof Accepts) =>
    found[name].length === 0 ? [NaN] : found[name].map((one) => one[field]);
  const compared = (field: keyof Accepts, by: keyof typeof found = "sqlite") =>
    ratios(of("postgres", field), of(by, field));
  return [
    { name: "accepts, SQLite", unit: "/s", samples: of("sqlite", "perSecond") },
    { name: "accepts, PostgreSQL", unit: "/s", samples: of("postgres", "perSecond") },
    {
      name: "PostgreSQL ÷ SQLite",
      unit: "×",
      target: { atLeast: 0.5 },
      samples: compared("perSecond"),
    },
    {
      name: "the same ÷ a transaction for each",
      unit: "×",
      target: { atLeast: 3 },
      samples: compared("perSecond", "alone"),
    },
    { name: "processor time, SQLite", unit: "µs", samples: of("sqlite", "ownCost") },
    { name: "processor time, PostgreSQL", unit: "µs", samples: of("postgres", "ownCost") },
    {
      name: "the same ÷ SQLite's",
      unit: "×",
      target: { atMost: 0.5 },
      samples: compared("ownCost"),
    },
    { name: "of the database", unit: "µs", samples: of("postgres", "databaseCost") },
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

const newId = idFactory(systemClock);

function newDelivery(): NewDelivery {
  const id = newId();
  const of = { project: "default", trigger: "push" };
  const task = { id: newId(), ...of, workflow: "ci", workspace: "repo", plan: PLAN, dedupKey: id };
  return {
    delivery: {
      id,
      ...of,
      source: "webhook",
      via: "http",
      receivedAt: systemClock.now(),
      status: 200,
      remote: "192.0.2.1",
      secretStore: "github",
      secretKey: "current",
      bodyBytes: BODY.length,
      durationMs: 3,
      detail: { headerNames: Object.keys(HEADERS), stages: { receive: 1, authenticate: 2 } },
    },
    content: { headers: HEADERS, body: BODY, url: "http://svc.example/webhook/push" },
    events: [admitted({ outcome: "accepted", task })],
    dedupWindowMs: KEEP_MS,
    dedupKeepMs: KEEP_MS,
  };
}

/** The server's processes for connections to this database, where they run on this machine. */
async function processesOf(connections: Connections): Promise<readonly number[]> {
  const rows = await connections.use((db) =>
    db.all("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
  );
  return rows.map(({ pid }) => Number(pid));
}

/** Milliseconds that these processes have had; NaN where they cannot be asked. */
function databaseTime(processes: readonly number[]): number {
  try {
    return processes.reduce((sum, pid) => sum + processorTime(pid).own, 0) || NaN;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return NaN; // another machine's, or ended
    throw error;
  }
}
