/**
 * The table `inbox`: messages to tasks that have not ended.
 *
 * @module
 */

import type { JsonObject } from "../../../base/json.ts";
import type { InboxMessage } from "../../task_records.ts";
import { toInboxMessage } from "../../sql/inbox.ts";
import type { Database } from "../engine/database.ts";

/** Adds a message; `undefined` when the task has ended or does not exist. */
export function addToInbox(
  db: Database,
  taskId: string,
  message: JsonObject,
  now: number,
): InboxMessage | undefined {
  const open = "SELECT 1 FROM tasks WHERE id = ? AND state IN ('pending', 'running')";
  if (db.get(open, taskId) === undefined) return undefined;
  const last = db.get("SELECT max(position) AS position FROM inbox WHERE task_id = ?", taskId);
  const position = typeof last?.["position"] === "number" ? last["position"] + 1 : 0;
  db.run(
    "INSERT INTO inbox VALUES (?, ?, ?, ?)",
    taskId,
    position,
    JSON.stringify(message),
    now,
  );
  return { position, message, createdAt: now };
}

/** Messages of a task, oldest first. */
export function listInbox(db: Database, taskId: string): InboxMessage[] {
  return db.all("SELECT * FROM inbox WHERE task_id = ? ORDER BY position", taskId)
    .map(toInboxMessage);
}
