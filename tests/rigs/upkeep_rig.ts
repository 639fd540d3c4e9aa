/**
 * A data directory with a filled database and without a daemon.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { type DataDir, dataDirAt } from "../../src/base/data_dir.ts";
import { createKeyring, newKeyFile } from "../../src/secrets/keyring.ts";
import { createDatabase } from "../../src/store/sqlite/create_database.ts";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import type { Store } from "../../src/store/store.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { rowsOf } from "../helpers/sqlite_file.ts";
import { accept } from "../helpers/store_records.ts";

export interface UpkeepRig extends AsyncDisposable {
  readonly dirs: DataDir;
  /** A directory beside it, for copies. */
  readonly elsewhere: string;
  /** Opens the store; the test closes it. */
  open(): Promise<Store>;
  /** Changes the database past the store. */
  change(sql: string): void;
  /** Ids of the tasks in a database file. */
  tasksOf(file: string): unknown[];
}

/** A data directory, at `root` if that is given, whose database holds a SecretStore and some tasks. */
export async function upkeepRig(tasks = 3, root?: string): Promise<UpkeepRig> {
  const temp = await tempDir();
  const dirs = dataDirAt(root ?? `${temp.path}/data`);
  for (const path of [dirs.controlPlane, `${dirs.root}/secrets`, `${temp.path}/elsewhere`]) {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  }
  await Deno.writeTextFile(dirs.secretKey, newKeyFile(), { mode: 0o600 });
  const keyring = await createKeyring(await Deno.readTextFile(dirs.secretKey));
  const place = {
    project: "default",
    store: "github",
    key: "current",
    createdAt: 1,
    generation: 1,
  };
  await createDatabase(dirs.database, [{
    kind: "SecretStore",
    project: "default",
    name: "github",
    metadata: {},
    spec: { data: { current: await keyring.seal(place, "a secret of some length") } },
    generation: 1,
    createdAt: 1,
    updatedAt: 1,
  }]);
  const open = () => openStore(dirs.database);
  {
    await using store = await open();
    for (let n = 0; n < tasks; n++) await accept(store, n);
  }
  return {
    dirs,
    elsewhere: `${temp.path}/elsewhere`,
    open,
    change(sql) {
      using db = new DatabaseSync(dirs.database);
      db.exec(sql);
    },
    tasksOf: (file) => rowsOf(file, "SELECT id FROM tasks ORDER BY id").map(({ id }) => id),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

/** Runs work to its end; returns its result and the number of its reports of progress. */
export async function finish<Result>(
  work: AsyncGenerator<unknown, Result, undefined>,
): Promise<{ result: Result; steps: number }> {
  for (let steps = 0;; steps++) {
    const step = await work.next();
    if (step.done === true) return { result: step.value, steps };
  }
}

/** Names of the files in a directory, in order. */
export function filesIn(path: string): string[] {
  return [...Deno.readDirSync(path)].filter(({ isFile }) => isFile).map(({ name }) => name)
    .toSorted();
}
