/**
 * A store in a directory of its own, which goes away with the test.
 *
 * @module
 */

import type { Store } from "../../src/store/store.ts";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import { tempDir } from "./temp_dir.ts";
import { within } from "./within.ts";

/** A store that goes away with everything in it. */
export interface TempStore extends AsyncDisposable {
  readonly store: Store;
  /** Directory of the database. */
  readonly dir: string;
  /** Path of the database. */
  readonly path: string;
}

/** Opens a store in a fresh directory. */
export async function tempStore(): Promise<TempStore> {
  const temp = await tempDir();
  const dir = temp.path;
  const path = `${dir}/svc.db`;
  const store = await openStore(path);
  return {
    store,
    dir,
    path,
    async [Symbol.asyncDispose]() {
      await within(10_000, store[Symbol.asyncDispose]());
      await temp[Symbol.asyncDispose]();
    },
  };
}
