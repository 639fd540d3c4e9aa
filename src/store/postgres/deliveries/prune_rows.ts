/**
 * Retention of deliveries: removes those that nothing needs any more, a few at a time, in the order
 * of their ids. One daemon does it at a time.
 *
 * @module
 */

import { number, text } from "../../sql/columns.ts";
import { taskIdsOf } from "../../sql/deliveries.ts";
import { tasksTold } from "../../sql/inbox.ts";
import type { Row } from "../../sql/row.ts";
import type { Session } from "../database/connections.ts";
import { positionOf, savePosition } from "../../sql/prune_positions.ts";

/** Deliveries that one call reads. */
const DELIVERIES_PER_CALL = 500;

/** Removes deliveries that are too old and whose tasks are gone; returns how many. */
export async function pruneDeliveries(
  db: Session,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  if (!await db.tryLock("retention/deliveries")) return 0;
  const rows = await db.all(
    "SELECT id, received_at, task_id, detail FROM deliveries WHERE id > ? ORDER BY id LIMIT ?",
    await positionOf(db, "deliveries") ?? "",
    DELIVERIES_PER_CALL,
  );
  const old = rows.filter((row) => number(row, "received_at") < before);
  const needed = await findNeeded(db, old);
  const ids = old.map((row) => text(row, "id")).filter((id) => !needed.has(id)).slice(0, limit);
  await savePosition(db, "deliveries", ids.length === limit ? ids.at(-1) ?? "" : next(rows, old));
  return await db.run("DELETE FROM deliveries WHERE id = ANY(?)", ids);
}

/**
 * The position of the next call; when all that follow are younger, the beginning of another round.
 */
function next(rows: readonly Row[], old: readonly Row[]): string {
  const last = rows.at(-1);
  const mayFollow = last !== undefined && rows.length === DELIVERIES_PER_CALL;
  return mayFollow && last === old.at(-1) ? text(last, "id") : "";
}

/**
 * Removes those of these deliveries that are old enough and that nothing needs; returns how many.
 */
export async function pruneTheseDeliveries(
  db: Session,
  ids: readonly string[],
  before: number,
): Promise<number> {
  const old = await db.all(
    "SELECT id, task_id, detail FROM deliveries WHERE id = ANY(?) AND received_at < ?",
    ids,
    before,
  );
  await db.run(
    `DELETE FROM source_events WHERE delivery_id = ANY(?) AND state NOT IN ('received', 'routing')
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = source_events.task_id)
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.delivery_id = source_events.delivery_id
         AND retry_of IS NOT NULL)`,
    old.map((row) => text(row, "id")),
  );
  const needed = await findNeeded(db, old);
  return await db.run(
    "DELETE FROM deliveries WHERE id = ANY(?)",
    old.map((row) => text(row, "id")).filter((id) => !needed.has(id)),
  );
}

/** Ids of those that a task, a chat event or another delivery needs, which may hold its payload. */
async function findNeeded(db: Session, rows: readonly Row[]): Promise<ReadonlySet<string>> {
  const ids = rows.map((row) => text(row, "id"));
  const tasks = rows.flatMap((row) =>
    taskIdsOf(row).map((taskId) => ({ id: text(row, "id"), taskId }))
  );
  const named = await db.all(
    `SELECT id FROM unnest(?::text[], ?::text[]) AS named (id, task_id)
       WHERE EXISTS (SELECT 1 FROM tasks WHERE tasks.id = named.task_id)
     UNION SELECT id FROM unnest(?::text[]) AS old (id)
       WHERE EXISTS (SELECT 1 FROM tasks WHERE delivery_id = old.id AND retry_of IS NOT NULL)
         OR EXISTS (SELECT 1 FROM source_events WHERE delivery_id = old.id)`,
    tasks.map(({ id }) => id),
    tasks.map(({ taskId }) => taskId),
    ids,
  );
  const needed = new Set(named.map((row) => text(row, "id")));
  for (const id of await findGoneOver(db, tasks.filter((one) => !needed.has(one.id)))) {
    needed.add(id);
  }
  const going = new Set(ids.filter((id) => !needed.has(id)));
  const sharing = await db.all(
    "SELECT id, content_of FROM deliveries WHERE content_of = ANY(?)",
    ids,
  );
  for (const row of sharing) {
    if (!going.has(text(row, "id"))) needed.add(text(row, "content_of"));
  }
  return needed;
}

/** Ids of those that were messages to a task that is gone, and have gone over to one that is stored. */
async function findGoneOver(
  db: Session,
  told: readonly { readonly id: string; readonly taskId: string }[],
): Promise<readonly string[]> {
  const followed = await db.all(
    `SELECT DISTINCT id FROM unnest(?::text[], ?::text[]) AS told (id, task_id)
       WHERE EXISTS (SELECT 1 FROM tasks WHERE parent_id = told.task_id)
         OR EXISTS (SELECT 1 FROM tasks WHERE retry_of = told.task_id)`,
    told.map(({ id }) => id),
    told.map(({ taskId }) => taskId),
  );
  const found = [];
  for (const row of followed) {
    if ((await tasksTold(db, text(row, "id"))).length > 0) found.push(text(row, "id"));
  }
  return found;
}
