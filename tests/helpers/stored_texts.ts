/**
 * Everything that a data directory holds as text, to find what must not be in it.
 *
 * @module
 */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { rowsIn } from "./stored_rows.ts";

/**
 * Every text and blob of a database, by table and column; what is sealed is no text of a secret.
 */
export function* storedTexts(path: string): Generator<readonly [where: string, text: string]> {
  using db = new DatabaseSync(path, { readOnly: true });
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  for (const { name } of tables) {
    for (const row of db.prepare(`SELECT * FROM "${name}"`).all()) {
      for (const [column, value] of Object.entries(row)) {
        if (typeof value === "string") yield [`${name}.${column}`, value];
        if (value instanceof Uint8Array) {
          yield [`${name}.${column}`, new TextDecoder("latin1").decode(value)];
        }
      }
    }
  }
}

/** The same of the database of a data directory, which may be a PostgreSQL. */
export async function textsIn(dataDir: string): Promise<readonly (readonly [string, string])[]> {
  const { database, databaseUrl } = dataDirAt(dataDir);
  const shared = await Deno.stat(databaseUrl).then(() => true, () => false);
  if (!shared) return [...storedTexts(database)];
  const tables = await rowsIn(
    dataDir,
    `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name
     FROM information_schema.tables WHERE table_schema IN ('svc', 'svc_jobs')`,
  );
  const texts: [string, string][] = [];
  for (const { name } of tables) {
    for (const row of await rowsIn(dataDir, `SELECT * FROM ${name}`)) {
      for (const [column, value] of Object.entries(row)) {
        texts.push([`${name}.${column}`, textOf(value)]);
      }
    }
  }
  return texts;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value instanceof Uint8Array
    ? new TextDecoder("latin1").decode(value)
    : JSON.stringify(value);
}

/** Every output in a folder of logs, decoded. */
export function* loggedTexts(folder: string): Generator<readonly [where: string, text: string]> {
  for (const { name } of Deno.readDirSync(folder)) {
    const text = Deno.readTextFileSync(join(folder, name));
    yield [name, text];
    const chunks = text.trim().split("\n").map((line) => JSON.parse(line));
    yield [name, chunks.map((one) => one.text ?? atob(one.base64)).join("")];
  }
}
