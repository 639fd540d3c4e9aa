/**
 * Retention of tasks: removes old ones, a few at a time. One daemon does it at a time, for all of
 * them; what a task left on the disk of another one is noted for that one.
 *
 * @module
 */

import { text } from "../../sql/columns.ts";
import type { Row } from "../../sql/row.ts";
import { toRemovedTask } from "../../sql/tasks.ts";
import type { TaskFiles } from "../../retention_store.ts";
import type { Session } from "../database/connections.ts";
import { END_HANDLED, findSurplus } from "./surplus_rows.ts";

/** Deduplication keys that one call reads. */
const KEYS_PER_CALL = 1000;

/** Removes ended tasks that are too old or too many; returns those whose files are to go here. */
export async function pruneTasks(
  db: Session,
  { before, keep, limit }: { before: number; keep?: number; limit: number },
): Promise<TaskFiles[]> {
  const noted = await takeNoted(db, limit);
  if (noted.length === limit || !await db.tryLock("retention/tasks")) return noted;
  const old = await removeTasks(db, await findOld(db, before, limit - noted.length));
  const rest = limit - noted.length - old.length;
  const surplus = keep === undefined || rest === 0
    ? []
    : await removeTasks(db, await findSurplus(db, keep, rest));
  const removed = [...old, ...surplus];
  if (removed.length > 0) {
    await removeKeys(db);
    await removePlans(db, removed);
  }
  return [...noted, ...removed.map(toRemovedTask)];
}

/**
 * Removes those of these tasks that have ended before a time; returns those whose files go here.
 */
export async function pruneTheseTasks(
  db: Session,
  ids: readonly string[],
  before: number,
): Promise<TaskFiles[]> {
  const ended = await db.all(
    `SELECT id FROM tasks WHERE id = ANY(?) AND finished_at < ? AND ${END_HANDLED}
     ORDER BY id FOR UPDATE`,
    ids,
    before,
  );
  const removed = await removeTasks(db, ended.map((row) => text(row, "id")));
  if (removed.length > 0) {
    await removeKeys(db);
    await removePlans(db, removed);
  }
  return removed.map(toRemovedTask);
}

/** Tasks that this daemon had run, and that another one has removed or taken over. */
async function takeNoted(db: Session, limit: number): Promise<TaskFiles[]> {
  const rows = await db.all(
    `DELETE FROM files_to_remove WHERE node = ?1 AND task_id IN
       (SELECT task_id FROM files_to_remove WHERE node = ?1 ORDER BY task_id LIMIT ?2)
     RETURNING task_id AS id, directory,
       EXISTS (SELECT 1 FROM tasks WHERE tasks.id = task_id)::int AS is_moved`,
    db.owner.node,
    limit,
  );
  return rows.map((row) => ({
    ...toRemovedTask(row),
    ...(row["is_moved"] === 1 ? { isMoved: true } : {}),
  }));
}

async function findOld(db: Session, before: number, limit: number): Promise<string[]> {
  const rows = await db.all(
    `SELECT id FROM tasks WHERE finished_at IS NOT NULL AND finished_at < ? AND ${END_HANDLED}
     ORDER BY finished_at LIMIT ?`,
    before,
    limit,
  );
  return rows.map((row) => text(row, "id"));
}

/**
 * Removes tasks with all that belongs to them. What a task left on the disk of another node is
 * noted for that one, unless it is known no more.
 */
export async function removeTasks(db: Session, ids: readonly string[]): Promise<Row[]> {
  if (ids.length === 0) return [];
  return await db.all(
    `WITH gone AS (DELETE FROM tasks WHERE id = ANY(?1) RETURNING id, directory, node, plan_hash),
       gone_steps AS (DELETE FROM steps WHERE task_id = ANY(?1)),
       gone_inbox AS (DELETE FROM inbox WHERE task_id = ANY(?1)),
       gone_turns AS (DELETE FROM turns WHERE task_id = ANY(?1)),
       gone_waits AS (DELETE FROM waits WHERE task_id = ANY(?1)),
       gone_answers AS (DELETE FROM wait_answers WHERE task_id = ANY(?1)),
       gone_children AS (DELETE FROM children WHERE parent_id = ANY(?1)),
       gone_talks AS (DELETE FROM conversations WHERE task_id = ANY(?1)),
       gone_outputs AS (DELETE FROM outputs WHERE task_id = ANY(?1)),
       elsewhere AS (INSERT INTO files_to_remove (node, task_id, directory)
         SELECT node, id, COALESCE(directory, '') FROM gone
         WHERE node <> ?2 AND node IN (SELECT id FROM nodes))
     SELECT id, CASE WHEN node IN ('', ?2) THEN directory END AS directory, plan_hash FROM gone
     ORDER BY array_position(?1, id)`,
    ids,
    db.owner.node,
  );
}

/**
 * Removes keys of tasks that are gone: a key stops repetitions only as long as its task exists. One
 * that has just been given to another task stays; one whose task was deleted by hand names none,
 * and goes by its age.
 */
async function removeKeys(db: Session): Promise<void> {
  await db.run(
    `DELETE FROM dedup_keys USING
       (SELECT digest, task_id FROM dedup_keys ORDER BY created_at LIMIT ?) AS oldest
     WHERE dedup_keys.digest = oldest.digest AND dedup_keys.task_id = oldest.task_id
       AND oldest.task_id <> ''
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = oldest.task_id)`,
    KEYS_PER_CALL,
  );
}

/**
 * Removes the plans of removed tasks that no other names. A transaction that stores a task locks
 * its plan (`FOR KEY SHARE`): such a plan is passed over, and tasks that were committed until then
 * are seen by the second statement.
 */
export async function removePlans(db: Session, removed: readonly Row[]): Promise<void> {
  const hashes = new Set(
    removed.flatMap((row) => row["plan_hash"] === null ? [] : [text(row, "plan_hash")]),
  );
  const held = await db.all(
    "SELECT hash FROM plans WHERE hash = ANY(?) ORDER BY hash FOR UPDATE SKIP LOCKED",
    [...hashes],
  );
  await db.run(
    `DELETE FROM plans WHERE hash = ANY(?)
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.plan_hash = plans.hash)`,
    held.map((row) => text(row, "hash")),
  );
}
