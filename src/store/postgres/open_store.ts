/**
 * The store over PostgreSQL, which several daemons share. It runs in the daemon's own thread: its
 * work is mostly waiting, and copies to another thread would cost more than they spare.
 *
 * @module
 */

import { ACCESS } from "../access.ts";
import type { LogStore } from "../log_store.ts";
import type { Store, StoreMethod } from "../store.ts";
import { BATCHED, type Batched } from "./batched.ts";
import { Connections, type Owner } from "./database/connections.ts";
import { migrate } from "./database/migrate.ts";
import { JobQueue } from "./jobs/job_queue.ts";
import { Lane } from "./lane.ts";
import { METHODS } from "./methods.ts";
import { type LogOptions, openLogs } from "./open_logs.ts";
import { type BatchedCall, BatchRunner } from "./run_batch.ts";

/** How to open it. */
export interface PostgresOptions extends LogOptions {
  /** `postgres://…`. */
  readonly url: string;
  readonly owner: Owner;
  /** For how long its tasks are its own while nothing is heard of it. */
  readonly leaseMs?: number;
}

/** The store, and beside it the output of tasks. */
export interface PostgresStore extends Store {
  readonly logs: LogStore;
}

const LEASE_MS = 60_000;

type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>;

/**
 * Opens the store of a database, and migrates its schema.
 *
 * @throws {AppError} `overloaded` when the database cannot be reached, `refused` when it cannot be
 * used.
 */
export async function openPostgresStore(
  { url, owner, leaseMs = LEASE_MS, ...forLogs }: PostgresOptions,
): Promise<PostgresStore> {
  await using opened = new AsyncDisposableStack();
  const connections = opened.use(new Connections({ url, owner }));
  await migrate(connections);
  opened.use(await JobQueue.open(connections, leaseMs));
  const batches = new BatchRunner(connections, { owner, epochOf: () => undefined });
  const lanes = {
    events: new Lane((calls: readonly BatchedCall[]) => batches.run(calls)),
    tasks: new Lane((calls: readonly BatchedCall[]) => batches.run(calls)),
  };
  for (const lane of Object.values(lanes)) opened.defer(() => lane.idle());
  const methods: Partial<Record<StoreMethod, AnyMethod>> = {};
  for (const name of Object.keys(ACCESS) as StoreMethod[]) {
    methods[name] = isBatched(name)
      ? (...args) => lanes[BATCHED[name].lane].call({ method: name, args })
      : methodOf(connections, name);
  }
  const all = opened.move();
  return {
    ...methods as unknown as Pick<Store, StoreMethod>, // ACCESS has every name at run time
    logs: openLogs(connections, forLogs),
    failed: new Promise(() => {}),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const isBatched = (name: StoreMethod): name is Batched => name in BATCHED;

function methodOf(connections: Connections, name: StoreMethod): AnyMethod {
  const run = (METHODS as Partial<Record<StoreMethod, AnyMethod>>)[name];
  if (run === undefined) return () => Promise.reject(new Error(`No ${name} yet`));
  return ACCESS[name] === "read"
    ? (...args) => connections.use((db) => run(db, ...args))
    : (...args) => connections.transaction((db) => run(db, ...args));
}
