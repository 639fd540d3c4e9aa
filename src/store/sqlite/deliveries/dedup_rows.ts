/**
 * The table `dedup_keys`: the last event of each key, and the task it started.
 *
 * @module
 */

import type { NewTask } from "../../task_records.ts";
import type { EarlierEvent } from "../../rules/event_outcome.ts";
import { dedupDigest } from "../../rules/keys.ts";
import type { Found } from "../../rules/needs.ts";
import { toEarlierEvent } from "../../sql/task_facts.ts";
import type { RememberedEvent } from "../../transactions/task_rows.ts";
import type { Database } from "../engine/database.ts";

/**
 * The event with the key of this task, if its task is still stored, or was deleted by hand after it
 * had succeeded: then the key names none.
 */
export function findEarlier(db: Database, task: NewTask): Found<EarlierEvent> {
  const row = db.get(
    `SELECT dedup_keys.delivery_id, dedup_keys.task_id, dedup_keys.created_at AS received_at,
       CASE dedup_keys.task_id WHEN '' THEN 'succeeded' ELSE tasks.state END AS state
     FROM dedup_keys LEFT JOIN tasks ON tasks.id = dedup_keys.task_id
     WHERE digest = ? AND (tasks.id IS NOT NULL OR dedup_keys.task_id = '')`,
    dedupDigest(task) ?? null,
  );
  return row === undefined ? "none" : toEarlierEvent(row);
}

/**
 * Stores the key of a task. Each call also removes two keys from before `forgetUpTo`, so the table
 * never holds many more keys than that time brought.
 */
export function rememberKey(db: Database, task: NewTask, event: RememberedEvent): void {
  const digest = dedupDigest(task);
  if (digest === undefined) return;
  db.run(
    `DELETE FROM dedup_keys WHERE created_at <= ?
       AND position IN (SELECT position FROM dedup_keys ORDER BY position LIMIT 2)`,
    event.forgetUpTo,
  );
  db.run(
    "INSERT OR REPLACE INTO dedup_keys (digest, delivery_id, task_id, created_at) VALUES (?, ?, ?, ?)",
    digest,
    event.deliveryId,
    event.taskId,
    event.receivedAt,
  );
}
