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
} from "../rules/chat_retention.ts";
import type { SourceEventState } from "../source_event_records.ts";
import { number, text } from "./columns.ts";
import { positionOf, savePosition } from "./prune_positions.ts";
import type { Row, SqlValue } from "./row.ts";
import type { SqlSession } from "./session.ts";

/** Rows of each table that one call reads: some 4 ms with SQLite. */
const PAGE_SIZE = 500;

/** Removes events and bindings that are too old and whose tasks are gone; returns how many. */
export async function pruneSourceEvents(
  db: SqlSession,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  if (!await db.tryLock("retention/chat")) return 0;
  const events = await prune(db, {
    name: "source_events",
    select: `SELECT id, received_at, state, ${HAS_TASK}, CASE WHEN EXISTS (SELECT 1 FROM tasks
        WHERE tasks.delivery_id = one.delivery_id AND retry_of IS NOT NULL) THEN 1 ELSE 0 END
        AS is_retried
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

const HAS_TASK = `CASE WHEN EXISTS (SELECT 1 FROM tasks WHERE tasks.id = one.task_id)
  THEN 1 ELSE 0 END AS has_task`;
const hasTask = (row: Row) => number(row, "has_task") === 1;

/** How one table is read, in the order of its ids. */
interface Walk extends Omit<PruneWalk<Row>, "pageSize"> {
  readonly name: "source_events" | "bindings";
  readonly select: string;
  /** A condition, with its values, under which a row that was read may still be removed. */
  readonly unchanged: readonly [string, ...SqlValue[]];
}

async function prune(db: SqlSession, { name, select, unchanged, ...walk }: Walk): Promise<number> {
  const rows = await db.all(
    `${select} WHERE id > ? ORDER BY id LIMIT ?`,
    await positionOf(db, name) ?? "",
    PAGE_SIZE,
  );
  const { unneeded, goOnBehind } = prunePage(rows, { ...walk, pageSize: PAGE_SIZE });
  await savePosition(db, name, goOnBehind === undefined ? "" : text(goOnBehind, "id"));
  const [condition, ...values] = unchanged;
  return await db.run(
    `DELETE FROM ${name} WHERE id IN (SELECT value FROM json_each(?)) AND ${condition}`,
    JSON.stringify(unneeded.map((row) => text(row, "id"))),
    ...values,
  );
}
