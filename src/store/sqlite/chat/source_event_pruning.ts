/**
 * Retention of chat events and bindings: old rows whose task is gone are removed, a few at a time.
 * Events that wait to be routed stay.
 *
 * @module
 */

import { isBindingNeeded, isEventNeeded } from "../../rules/chat_retention.ts";
import type { SourceEventState } from "../../source_event_records.ts";
import { number, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import { positionOf, savePosition } from "../tasks/prune_rows.ts";

/** Rows of each table that one call reads: some 4 ms. */
const PAGE_SIZE = 500;

/** Removes events and bindings that are too old and whose tasks are gone; returns how many. */
export function pruneSourceEvents(
  db: Database,
  { before, limit }: { before: number; limit: number },
): number {
  const events = prune(db, {
    name: "source_events",
    select: `SELECT rowid AS at, id, received_at, state, task_id, delivery_id FROM source_events
      WHERE rowid > ? ORDER BY rowid LIMIT ?`,
    from: (position) => Number(position ?? 0),
    isYoung: (row) => number(row, "received_at") >= before,
    isNeeded: (row) =>
      isEventNeeded({
        state: text(row, "state") as SourceEventState,
        hasTask: hasTask(db, row),
        isRetried: isRetried(db, text(row, "delivery_id")),
      }),
    limit,
  });
  return events + prune(db, {
    name: "bindings",
    select:
      "SELECT id AS at, id, updated_at, task_id FROM bindings WHERE id > ? ORDER BY id LIMIT ?",
    from: (position) => position ?? "",
    isYoung: () => false, // rows are not in the order of their age
    isNeeded: (row) => {
      const updatedAt = number(row, "updated_at");
      return isBindingNeeded({ updatedAt, hasTask: hasTask(db, row) }, before);
    },
    limit: limit - events,
  });
}

/** How one table is read, row after row. */
interface Walk {
  readonly name: "source_events" | "bindings";
  /** Query for the rows after a position, which each row has as `at`. */
  readonly select: string;
  /** The position to continue from, given the stored one. */
  readonly from: (position: string | undefined) => SqlValue;
  /** Whether all later rows are too young as well, so that a round ends there. */
  readonly isYoung: (row: Row) => boolean;
  readonly isNeeded: (row: Row) => boolean;
  readonly limit: number;
}

function prune(db: Database, { name, limit, ...walk }: Walk): number {
  const start = walk.from(positionOf(db, name));
  const rows = db.all(walk.select, start, PAGE_SIZE);
  const young = rows.findIndex(walk.isYoung);
  const old = young === -1 ? rows : rows.slice(0, young);
  let read = 0;
  let removed = 0;
  for (const row of old) {
    if (removed >= limit) break;
    read++;
    if (walk.isNeeded(row)) continue;
    removed += db.run(`DELETE FROM ${name} WHERE id = ?`, text(row, "id"));
  }
  const isRoundOver = read === old.length && old.length < PAGE_SIZE;
  const at = isRoundOver ? walk.from(undefined) : old[read - 1]?.["at"] ?? start;
  savePosition(db, name, String(at));
  return removed;
}

function hasTask(db: Database, row: Row): boolean {
  const id = text(row, "task_id");
  return id !== "" && db.get("SELECT 1 FROM tasks WHERE id = ?", id) !== undefined;
}

/** Whether another task retries the one that this delivery started. */
function isRetried(db: Database, deliveryId: string): boolean {
  const sql = "SELECT 1 FROM tasks WHERE delivery_id = ? AND retry_of IS NOT NULL LIMIT 1";
  return db.get(sql, deliveryId) !== undefined;
}
