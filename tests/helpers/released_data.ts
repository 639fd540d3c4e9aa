/**
 * Data directories of earlier releases, from `tests/fixtures/data_dirs`.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import type { DataDir } from "../../src/base/data_dir.ts";

const HERE = fileURLToPath(new URL("../fixtures/data_dirs/", import.meta.url));

export interface ReleasedData {
  /** Version of its schema. */
  readonly version: number;
  /** Its database as SQL, left a minute ago. */
  readonly sql: string;
  /** Content of its key file. */
  readonly key: string;
}

/** Releases with their database in a file, or in PostgreSQL, oldest first. */
export function releasedData(where: "file" | "postgres"): readonly ReleasedData[] {
  const form = where === "file" ? /^schema_(\d+)\.sql$/ : /^postgres_schema_(\d+)\.sql$/;
  return [...Deno.readDirSync(HERE)].flatMap(({ name }) => {
    const version = form.exec(name)?.[1];
    if (version === undefined) return [];
    return [{
      version: Number(version),
      sql: leftJustNow(Deno.readTextFileSync(`${HERE}${name}`)),
      key: Deno.readTextFileSync(`${HERE}${name.replace(/sql$/, "key")}`),
    }];
  }).sort((a, b) => a.version - b.version);
}

const MINUTE_MS = 60_000;
/**
 * Rows with a time that work depends on. Those of resources stay: their values are sealed with it.
 */
const DATED_ROW = /^INSERT INTO (?!.*\bresources"? ).*$/gm;
/** A number of milliseconds, or a `timestamptz`. */
const TIME = /(?<=[(, ])1\d{12}(?=[,)])|(?<=')20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\+00(?=')/g;

/**
 * The same rows with their times moved so that the oldest is a minute old: what was delayed for a
 * day is still delayed, and what was remembered for a day is still known.
 */
function leftJustNow(sql: string): string {
  const timeOf = (text: string) => text.includes("-") ? Date.parse(text) : Number(text);
  const times = [...sql.matchAll(DATED_ROW)].flatMap(([row]) => row.match(TIME) ?? []).map(timeOf);
  const shift = Date.now() - MINUTE_MS - Math.min(...times);
  return sql.replaceAll(DATED_ROW, (row) =>
    row.replaceAll(TIME, (text) => {
      const time = timeOf(text) + shift;
      return text.includes("-") ? new Date(time).toISOString() : String(time);
    }));
}

/** Writes the database and the key; `svc init` adds the rest. */
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
