/**
 * The store over PostgreSQL, which several daemons share. It runs in the daemon's own thread: its
 * work is mostly waiting, and copies to another thread would cost more than they spare.
 *
 * @module
 */

import { ACCESS } from "../access.ts";
import type { Store, StoreMethod } from "../store.ts";
import { Connections, type Owner } from "./database/connections.ts";
import { migrate } from "./database/migrate.ts";
import { METHODS } from "./methods.ts";

/** How to open it. */
export interface PostgresOptions {
  /** `postgres://…`. */
  readonly url: string;
  readonly owner: Owner;
}

type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>;

/**
 * Opens the store of a database, and migrates its schema.
 *
 * @throws {AppError} `overloaded` when the database cannot be reached, `refused` when it cannot be
 * used.
 */
export async function openPostgresStore({ url, owner }: PostgresOptions): Promise<Store> {
  const connections = new Connections({ url, owner });
  try {
    await migrate(connections);
  } catch (error) {
    await connections[Symbol.asyncDispose]();
    throw error;
  }
  const methods: Partial<Record<StoreMethod, AnyMethod>> = {};
  for (const name of Object.keys(ACCESS) as StoreMethod[]) {
    methods[name] = methodOf(connections, name);
  }
  return {
    ...methods as unknown as Pick<Store, StoreMethod>, // ACCESS has every name at run time
    failed: new Promise(() => {}),
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}

function methodOf(connections: Connections, name: StoreMethod): AnyMethod {
  const run = (METHODS as Partial<Record<StoreMethod, AnyMethod>>)[name];
  if (run === undefined) return () => Promise.reject(new Error(`No ${name} yet`));
  return ACCESS[name] === "read"
    ? (...args) => connections.use((db) => run(db, ...args))
    : (...args) => connections.transaction((db) => run(db, ...args));
}
