/**
 * The table `bindings`: which task a thread is bound to.
 *
 * @module
 */

import type { Binding, BindingQuery, ThreadKey } from "../../source_event_records.ts";
import { number, storable, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row } from "../../sql/row.ts";
import { idRange, ordered, prefixEnd, where } from "../../sql/queries.ts";
import { ofEachProject } from "../engine/newest.ts";
import { findEventOfDelivery } from "./source_event_rows.ts";

/** Id of the task that a thread is bound to. */
export function findBound(db: Database, thread: ThreadKey): string | undefined {
  if (thread.threadId === "") return undefined;
  const row = db.get(
    `SELECT task_id FROM bindings WHERE project = ? AND "trigger" = ? AND installation_id = ?
       AND conversation_id = ? AND thread_id = ?`,
    thread.project,
    thread.trigger,
    storable(thread.installationId),
    storable(thread.conversationId),
    storable(thread.threadId),
  );
  return row === undefined ? undefined : text(row, "task_id");
}

/** Binds a thread to a task; a thread that is bound already keeps its id. */
export function bindThread(db: Database, binding: Omit<Binding, "createdAt">): void {
  db.run(
    `INSERT INTO bindings (project, "trigger", installation_id, conversation_id, thread_id, id,
       task_id, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
     ON CONFLICT (project, "trigger", installation_id, conversation_id, thread_id)
       DO UPDATE SET task_id = ?7, updated_at = ?8`,
    binding.project,
    binding.trigger,
    storable(binding.installationId),
    storable(binding.conversationId),
    storable(binding.threadId),
    binding.id,
    binding.taskId,
    binding.updatedAt,
  );
}

/**
 * Binds the thread of a task to its retry, unless the thread is bound to another task by now: to a
 * follow-up, or to a retry that has not ended.
 */
export function bindRetry(
  db: Database,
  retry: { readonly id: string; readonly of: string; readonly now: number },
): void {
  db.run(
    `UPDATE bindings SET task_id = ?1, updated_at = ?2
     WHERE task_id IN (SELECT ?3 UNION ALL SELECT id FROM tasks
       WHERE delivery_id = (SELECT delivery_id FROM tasks WHERE id = ?3) AND retry_of IS NOT NULL)
     AND NOT EXISTS (SELECT 1 FROM tasks
       WHERE tasks.id = bindings.task_id AND state IN ('pending', 'running'))`,
    retry.id,
    retry.now,
    retry.of,
  );
}

/**
 * The thread in which a task answers: that of the event whose payload the task has (a retry has the
 * payload of the task it retries); else a thread that was bound to it; else the conversation it
 * came from.
 */
export function findThreadOfTask(db: Database, taskId: string): ThreadKey | undefined {
  const task = db.get("SELECT delivery_id FROM tasks WHERE id = ?", taskId);
  const event = task === undefined ? undefined : findEventOfDelivery(db, text(task, "delivery_id"));
  if (event !== undefined && event.threadId !== "") return event;
  const bound = db.get(
    "SELECT * FROM bindings WHERE task_id = ? ORDER BY updated_at DESC LIMIT 1",
    taskId,
  );
  return bound === undefined ? event : toBinding(bound);
}

/** Bindings, in the order of the list. */
export function listBindings(db: Database, query: BindingQuery): Binding[] {
  if (query.project === undefined && query.trigger !== undefined) {
    return ofEachProject(db, "bindings", query, listBindings);
  }
  const { project, trigger, since, until, ...places } = query;
  // The time of a binding is that of its last change, and its id that of its first.
  const { clause, values } = where(Object.assign(
    {
      "project = ?": project,
      '"trigger" = ?': trigger,
      "updated_at >= ?": since,
      "updated_at <= ?": until,
    },
    idRange(places),
  ));
  const index = trigger !== undefined
    ? "INDEXED BY bindings_of_trigger"
    : project === undefined
    ? ""
    : "INDEXED BY bindings_of_project";
  return db.all(
    `SELECT * FROM bindings ${index} ${clause} ${ordered(query)} LIMIT ?`,
    ...values,
    query.limit,
  ).map(toBinding);
}

/** Bindings whose id starts with `prefix`, at most two. */
export function findBindings(db: Database, prefix: string): Binding[] {
  return db.all(
    "SELECT * FROM bindings WHERE id >= ? AND id < ? ORDER BY id LIMIT 2",
    prefix,
    prefixEnd(prefix),
  ).map(toBinding);
}

function toBinding(row: Row): Binding {
  return {
    id: text(row, "id"),
    project: text(row, "project"),
    trigger: text(row, "trigger"),
    installationId: text(row, "installation_id"),
    conversationId: text(row, "conversation_id"),
    threadId: text(row, "thread_id"),
    taskId: text(row, "task_id"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}
