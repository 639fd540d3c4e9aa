/**
 * SQLite as an implementation of `Store` that the contract is judged on.
 *
 * @module
 */

import { openStore } from "../../../src/store/sqlite/open_store.ts";
import { tempStore } from "../../helpers/temp_store.ts";
import { within } from "../../helpers/within.ts";
import type { TestedStore } from "../contract/implementations.ts";

/** Opens a store over a file in a directory of its own. */
export async function openSqlite(): Promise<TestedStore> {
  const temp = await tempStore();
  let { store } = temp;
  return {
    get store() {
      return store;
    },
    async restart() {
      await within(10_000, store[Symbol.asyncDispose]());
      return store = await openStore(temp.path);
    },
    async [Symbol.asyncDispose]() {
      await within(10_000, store[Symbol.asyncDispose]());
      await temp[Symbol.asyncDispose](); // closes what is closed already, and removes the file
    },
  };
}
