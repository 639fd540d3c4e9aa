/**
 * Data directories as earlier daemons left them, from `tests/fixtures/data_dirs`.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import type { DataDir } from "../../src/base/data_dir.ts";

const HERE = fileURLToPath(new URL("../fixtures/data_dirs/", import.meta.url));

/** One of them. */
export interface ReleasedData {
  /** Version of its schema. */
  readonly version: number;
  /** Its database as SQL. */
  readonly sql: string;
  /** Content of its key file. */
  readonly key: string;
}

/** All that kept their database in a file, or in PostgreSQL, the oldest first. */
export function releasedData(where: "file" | "postgres"): readonly ReleasedData[] {
  const form = where === "file" ? /^schema_(\d+)\.sql$/ : /^postgres_schema_(\d+)\.sql$/;
  return [...Deno.readDirSync(HERE)].flatMap(({ name }) => {
    const version = form.exec(name)?.[1];
    if (version === undefined) return [];
    return [{
      version: Number(version),
      sql: Deno.readTextFileSync(`${HERE}${name}`),
      key: Deno.readTextFileSync(`${HERE}${name.replace(/sql$/, "key")}`),
    }];
  }).sort((a, b) => a.version - b.version);
}

/** Writes what is the daemon's alone; `svc init` adds the rest. */
export async function writeReleased(
  { sql, key }: ReleasedData,
  { database, secretKey }: Pick<DataDir, "database" | "secretKey">,
): Promise<void> {
  await writeKey(key, secretKey);
  const db = new DatabaseSync(database);
  try {
    db.exec(sql);
    db.exec("PRAGMA journal_mode = WAL");
  } finally {
    db.close();
  }
  await Deno.chmod(database, 0o600);
}

/** Writes a key file where it lies in a data directory. */
export async function writeKey(key: string, path: string): Promise<void> {
  await Deno.mkdir(path.replace(/\/[^/]*$/, ""), { recursive: true, mode: 0o700 });
  await Deno.writeTextFile(path, key, { mode: 0o600 });
}
