/**
 * Everything that a data directory and its database hold as text, to find what must not be in it.
 *
 * @module
 */

import { concatBytes } from "../../src/base/bytes.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { isShared, rowsIn } from "./stored_rows.ts";

/** A text, and its place: table and column, or file. */
export type StoredText = readonly [where: string, text: string];

/** Tables of a file, and those of `svc` in a PostgreSQL. */
const TABLES = {
  file: `SELECT '"' || name || '"' AS name FROM sqlite_master WHERE type = 'table'`,
  shared: `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name
    FROM information_schema.tables WHERE table_schema IN ('svc', 'svc_jobs')`,
};

/**
 * Every text and blob of a database, by table and column; what is sealed is no text of a secret.
 */
export async function textsIn(dataDir: string): Promise<readonly StoredText[]> {
  const tables = await rowsIn(dataDir, TABLES[await isShared(dataDir) ? "shared" : "file"]);
  const texts: StoredText[] = [];
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

/** The stored log of each task that has one. */
export async function logsIn(dataDir: string): Promise<readonly StoredText[]> {
  if (!await isShared(dataDir)) {
    const { logs } = dataDirAt(dataDir);
    const names = [...Deno.readDirSync(logs)].map(({ name }) => name);
    return names.map((name) => [name, Deno.readTextFileSync(`${logs}/${name}`)]);
  }
  const sql = "SELECT task_id, bytes FROM task_logs ORDER BY task_id, position";
  const blocks = Map.groupBy(await rowsIn(dataDir, sql), ({ task_id: id }) => String(id));
  return [...blocks].map(([id, rows]) => [
    id,
    new TextDecoder().decode(concatBytes(...rows.map((row) => row["bytes"] as Uint8Array))),
  ]);
}

/** The stored logs, and the texts of their lines. */
export async function loggedTexts(dataDir: string): Promise<readonly StoredText[]> {
  return (await logsIn(dataDir)).flatMap(([where, text]): StoredText[] => {
    const lines = text.trim().split("\n").map((line) => JSON.parse(line));
    return [[where, text], [where, lines.map((one) => one.text ?? atob(one.base64)).join("")]];
  });
}
