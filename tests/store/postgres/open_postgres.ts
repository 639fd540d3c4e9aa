/**
 * PostgreSQL as an implementation of `Store` that the contract is judged on.
 *
 * @module
 */

import { systemClock } from "../../../src/base/clock.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import { createTestDatabase } from "../../helpers/postgres.ts";
import { within } from "../../helpers/within.ts";
import type { TestedStore } from "../contract/implementations.ts";

/** Opens a store over a database of its own. */
export async function openPostgres(): Promise<TestedStore> {
  const database = await createTestDatabase();
  const node = crypto.randomUUID();
  const open = () =>
    openPostgresStore({
      url: database.url,
      owner: { node, run: crypto.randomUUID() },
      clock: systemClock,
    });
  let store = await open();
  return {
    get store() {
      return store;
    },
    async restart() {
      await within(10_000, store[Symbol.asyncDispose]());
      return store = await open();
    },
    async [Symbol.asyncDispose]() {
      await within(10_000, store[Symbol.asyncDispose]());
      await database[Symbol.asyncDispose]();
    },
  };
}
