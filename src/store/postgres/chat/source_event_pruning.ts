/**
 * Retention of chat events and bindings: old rows whose task is gone are removed, a few at a time.
 * Events that wait to be routed stay. One daemon does it at a time.
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
import type { Row } from "../../sql/row.ts";
import type { Session, Value } from "../database/connections.ts";
import { positionOf, savePosition } from "../database/prune_positions.ts";

/** Rows of each table that one call reads. */
const PAGE_SIZE = 500;

/** Removes events and bindings that are too old and whose tasks are gone; returns how many. */
export async function pruneSourceEvents(
  db: Session,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  if (!await db.tryLock("retention/chat")) return 0;
  const events = await prune(db, {
    name: "source_events",
    select: `SELECT id, received_at, state, ${HAS_TASK}, EXISTS (SELECT 1 FROM tasks
        WHERE tasks.delivery_id = one.delivery_id AND retry_of IS NOT NULL)::int AS is_retried
      FROM source_events AS one`,
    isYoung: (row) => number(row, "received_at") >= before,
    isNeeded: (row) =>
      isEventNeeded({
        state: text(row, "state") as SourceEventState,
        hasTask: hasTask(row),
        isRetried: number(row, "is_retried") === 1,
      }),
    limit,
    unchanged: ["state NOT IN ('received', 'routing')"],
  });
  if (events === limit) return events;
  return events + await prune(db, {
    name: "bindings",
    select: `SELECT id, updated_at, ${HAS_TASK} FROM bindings AS one`,
    isYoung: () => false, // rows are not in the order of their age
    isNeeded: (row) => {
      const updatedAt = number(row, "updated_at");
      return isBindingNeeded({ updatedAt, hasTask: hasTask(row) }, before);
    },
    limit: limit - events,
    unchanged: ["updated_at < ?", before],
  });
}

const HAS_TASK = "EXISTS (SELECT 1 FROM tasks WHERE tasks.id = one.task_id)::int AS has_task";
const hasTask = (row: Row) => number(row, "has_task") === 1;

/** How one table is read, in the order of its ids. */
interface Walk extends Omit<PruneWalk<Row>, "pageSize"> {
  readonly name: "source_events" | "bindings";
  readonly select: string;
  /** A condition, with its values, under which a row that was read may still be removed. */
  readonly unchanged: readonly [string, ...Value[]];
}

async function prune(db: Session, { name, select, unchanged, ...walk }: Walk): Promise<number> {
  const rows = await db.all(
    `${select} WHERE id > ? ORDER BY id LIMIT ?`,
    await positionOf(db, name) ?? "",
    PAGE_SIZE,
  );
  const { unneeded, goOnBehind } = prunePage(rows, { ...walk, pageSize: PAGE_SIZE });
  await savePosition(db, name, goOnBehind === undefined ? "" : text(goOnBehind, "id"));
  const [condition, ...values] = unchanged;
  return await db.run(
    `DELETE FROM ${name} WHERE id = ANY(?) AND ${condition}`,
    unneeded.map((row) => text(row, "id")),
    ...values,
  );
}
