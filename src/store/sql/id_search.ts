/**
 * Ids by a part of them, in both databases: beginnings by an index, other parts among the newest ids.
 *
 * @module
 */

import type { NumberedRecord } from "../../resources/record_names.ts";
import type { IdSearchLimits } from "../id_search.ts";
import type { ListRange } from "../list_query.ts";
import { text } from "./columns.ts";
import { idRange, ordered, prefixEnd, where } from "./queries.ts";
import type { SqlSession } from "./session.ts";

/** The table of each kind of record; each has an index that begins with `id`. */
export const RECORD_TABLES: Readonly<Record<NumberedRecord, string>> = {
  "task": "tasks",
  "delivery": "deliveries",
  "source-event": "source_events",
  "binding": "bindings",
  "conversation": "conversations",
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
const LEAST_PART = { end: 4, middle: 6 };

export async function findIds(
  db: SqlSession,
  record: NumberedRecord,
  part: string,
  { limit, newest: searched }: IdSearchLimits,
): Promise<string[]> {
  const table = RECORD_TABLES[record];
  const ids = async (sql: string, ...values: readonly (string | number)[]) => {
    const rows = await db.all(`SELECT id FROM ${sql} ORDER BY id DESC LIMIT ?`, ...values, limit);
    return rows.map((row) => text(row, "id"));
  };
  const begin = await ids(`${table} WHERE id >= ? AND id < ?`, part, prefixEnd(part));
  if (begin.length > 0 || part.length < LEAST_PART.end) return begin;
  const newest = `(SELECT id FROM ${table} ORDER BY id DESC LIMIT ?) AS newest`;
  const ending = "substr(id, 1 + length(id) - ?) = ?";
  const end = await ids(`${newest} WHERE ${ending}`, searched, part.length, part);
  if (end.length > 0 || part.length < LEAST_PART.middle) return end;
  return await ids(`${newest} WHERE instr(id, ?) > 0`, searched, part);
}

export async function nthId(
  db: SqlSession,
  record: NumberedRecord,
  { nth, ...range }: ListRange & { readonly nth: number },
): Promise<string | undefined> {
  const { clause, values } = where(idRange(range));
  const row = await db.get(
    `SELECT id FROM ${RECORD_TABLES[record]} ${clause} ${ordered(range)} LIMIT 1 OFFSET ?`,
    ...values,
    nth - 1,
  );
  return row === undefined ? undefined : text(row, "id");
}
