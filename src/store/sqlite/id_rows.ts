/**
 * Ids by a part of them: beginnings by an index, other parts among the newest ids.
 *
 * @module
 */

import type { NumberedRecord } from "../../resources/record_names.ts";
import type { IdSearchLimits } from "../id_search.ts";
import type { ListRange } from "../list_query.ts";
import { text } from "../sql/columns.ts";
import { LEAST_PART, RECORD_TABLES } from "../sql/id_search.ts";
import type { Database } from "./engine/database.ts";
import { idRange, ordered, prefixEnd, where } from "../sql/queries.ts";

/** See `IdSearch`. */
export function findIds(
  db: Database,
  record: NumberedRecord,
  part: string,
  { limit, newest: searched }: IdSearchLimits,
): string[] {
  const table = RECORD_TABLES[record];
  const ids = (sql: string, ...values: readonly (string | number)[]) =>
    db.all(`SELECT id FROM ${sql} ORDER BY id DESC LIMIT ?`, ...values, limit)
      .map((row) => text(row, "id"));
  const begin = ids(`${table} WHERE id >= ? AND id < ?`, part, prefixEnd(part));
  if (begin.length > 0 || part.length < LEAST_PART.end) return begin;
  const newest = `(SELECT id FROM ${table} ORDER BY id DESC LIMIT ?)`;
  const end = ids(`${newest} WHERE substr(id, ?) = ?`, searched, -part.length, part);
  if (end.length > 0 || part.length < LEAST_PART.middle) return end;
  return ids(`${newest} WHERE instr(id, ?) > 0`, searched, part);
}

/** See `IdSearch`. */
export function nthId(
  db: Database,
  record: NumberedRecord,
  { nth, ...range }: ListRange & { readonly nth: number },
): string | undefined {
  const { clause, values } = where(idRange(range));
  const row = db.get(
    `SELECT id FROM ${RECORD_TABLES[record]} ${clause} ${ordered(range)} LIMIT 1 OFFSET ?`,
    ...values,
    nth - 1,
  );
  return row === undefined ? undefined : text(row, "id");
}
