/**
 * Retention of chat events and bindings: old rows whose task is gone are removed, a few at a time.
 * Events that wait to be routed stay.
 *
 * @module
 */

import {
  isBindingNeeded,
  isEventNeeded,
  prunePage,
  type PruneWalk,
} from "../../rules/chat_retention.ts";
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
  if (events === limit) return events;
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
interface Walk extends Omit<PruneWalk<Row>, "pageSize"> {
  readonly name: "source_events" | "bindings";
  /** Query for the rows after a position, which each row has as `at`. */
  readonly select: string;
  /** The position to continue from, given the stored one. */
  readonly from: (position: string | undefined) => SqlValue;
}

function prune(db: Database, { name, select, from, ...walk }: Walk): number {
  const rows = db.all(select, from(positionOf(db, name)), PAGE_SIZE);
  const { unneeded, goOnBehind } = prunePage(rows, { ...walk, pageSize: PAGE_SIZE });
  for (const row of unneeded) db.run(`DELETE FROM ${name} WHERE id = ?`, text(row, "id"));
  savePosition(db, name, String(goOnBehind?.["at"] ?? from(undefined)));
  return unneeded.length;
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
