/**
 * Everything that a data directory holds as text, to find what must not be in it.
 *
 * @module
 */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

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

/** Every output in a folder of logs, decoded. */
export function* loggedTexts(folder: string): Generator<readonly [where: string, text: string]> {
  for (const { name } of Deno.readDirSync(folder)) {
    const text = Deno.readTextFileSync(join(folder, name));
    yield [name, text];
    const chunks = text.trim().split("\n").map((line) => JSON.parse(line));
    yield [name, chunks.map((one) => one.text ?? atob(one.base64)).join("")];
  }
}
