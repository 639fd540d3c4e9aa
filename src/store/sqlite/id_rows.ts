/**
 * Ids by a part of them: beginnings by an index, other parts among the newest ids.
 *
 * @module
 */

import type { RecordName } from "../../resources/record_names.ts";
import type { IdSearchLimits } from "../id_search.ts";
import type { ListRange } from "../list_query.ts";
import { text } from "../sql/columns.ts";
import type { Database } from "./engine/database.ts";
import { idRange, ordered, prefixEnd, where } from "../sql/queries.ts";

/** Each has an index that begins with `id`. */
const TABLES: Readonly<Record<RecordName, string>> = {
  "task": "tasks",
  "delivery": "deliveries",
  "source-event": "source_events",
  "binding": "bindings",
  "outbox": "outbox",
  "audit": "plugin_audit",
  "token": "control_tokens",
  "control-audit": "control_audit",
};

/**
 * Fewest characters of a part that is no beginning: among ten thousand ids an end of four
 * characters is another id's one time in a hundred, and a word such as `test` would be in the
 * middle of one of them one time in five.
 */
const LEAST = { end: 4, middle: 6 };

/** See `IdSearch`. */
export function findIds(
  db: Database,
  record: RecordName,
  part: string,
  { limit, newest: searched }: IdSearchLimits,
): string[] {
  const table = TABLES[record];
  const ids = (sql: string, ...values: readonly (string | number)[]) =>
    db.all(`SELECT id FROM ${sql} ORDER BY id DESC LIMIT ?`, ...values, limit)
      .map((row) => text(row, "id"));
  const begin = ids(`${table} WHERE id >= ? AND id < ?`, part, prefixEnd(part));
  if (begin.length > 0 || part.length < LEAST.end) return begin;
  const newest = `(SELECT id FROM ${table} ORDER BY id DESC LIMIT ?)`;
  const end = ids(`${newest} WHERE substr(id, ?) = ?`, searched, -part.length, part);
  if (end.length > 0 || part.length < LEAST.middle) return end;
  return ids(`${newest} WHERE instr(id, ?) > 0`, searched, part);
}

/** See `IdSearch`. */
export function nthId(
  db: Database,
  record: RecordName,
  { nth, ...range }: ListRange & { readonly nth: number },
): string | undefined {
  const { clause, values } = where(idRange(range));
  const row = db.get(
    `SELECT id FROM ${TABLES[record]} ${clause} ${ordered(range)} LIMIT 1 OFFSET ?`,
    ...values,
    nth - 1,
  );
  return row === undefined ? undefined : text(row, "id");
}
