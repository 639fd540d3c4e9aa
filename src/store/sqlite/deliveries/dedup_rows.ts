/**
 * The table `dedup_keys`: which events of a trigger have started a task. Only one whose task is
 * pending, running or has succeeded makes the next a duplicate (contract 3).
 *
 * @module
 */

import type { NewTask } from "../../task_records.ts";
import { text } from "../engine/columns.ts";
import type { Database } from "../engine/database.ts";
import { digestOf } from "../engine/digest.ts";

/** The first delivery of an event. */
export interface First {
  /** Delivery it came with. */
  readonly deliveryId: string;
  /** Task it started. */
  readonly taskId: string;
}

/** The event that makes this task a duplicate, if it came after `since`. */
export function findDuplicate(db: Database, task: NewTask, since: number): First | undefined {
  if (task.dedupKey === undefined) return undefined;
  const row = db.get(
    `SELECT dedup_keys.delivery_id, dedup_keys.task_id FROM dedup_keys
     JOIN tasks ON tasks.id = dedup_keys.task_id
     WHERE digest = ? AND dedup_keys.created_at > ?
       AND tasks.state IN ('pending', 'running', 'succeeded')`,
    digestOf(task.project, task.trigger, task.dedupKey),
    since,
  );
  return row === undefined
    ? undefined
    : { deliveryId: text(row, "delivery_id"), taskId: text(row, "task_id") };
}

/**
 * From now on, an event with the key of this task is a duplicate. With each key that is added two that
 * are from before `since` go, so there are never many more than came in that time.
 */
export function rememberKey(
  db: Database,
  task: NewTask,
  { delivery, since }: {
    readonly delivery: { readonly id: string; readonly receivedAt: number };
    readonly since: number;
  },
): void {
  if (task.dedupKey === undefined) return;
  db.run(
    `DELETE FROM dedup_keys WHERE created_at <= ?
       AND position IN (SELECT position FROM dedup_keys ORDER BY position LIMIT 2)`,
    since,
  );
  db.run(
    "INSERT OR REPLACE INTO dedup_keys (digest, delivery_id, task_id, created_at) VALUES (?, ?, ?, ?)",
    digestOf(task.project, task.trigger, task.dedupKey),
    delivery.id,
    task.id,
    delivery.receivedAt,
  );
}
