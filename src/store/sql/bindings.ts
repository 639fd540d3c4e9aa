/**
 * The table `bindings`, in both databases: which task a thread is bound to.
 *
 * @module
 */

import type { Binding, BindingQuery, ThreadKey } from "../source_event_records.ts";
import { number, text } from "./columns.ts";
import { type Conditions, idRange, prefixEnd } from "./queries.ts";
import { UNFINISHED } from "./readiness.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";
import { EVENT_COLUMNS, threadValues, toSourceEvent, toThread } from "./source_events.ts";

/** Converts a row of this table. */
export function toBinding(row: Row): Binding {
  return {
    id: text(row, "id"),
    ...toThread(row),
    taskId: text(row, "task_id"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}

/**
 * Joins to `source_events` the task that the thread of an event is bound to: `bindings.task_id`, and
 * `tasks.state`, which is null where that task is gone.
 */
export const JOIN_BOUND = `LEFT JOIN bindings ON bindings.project = source_events.project
    AND bindings."trigger" = source_events."trigger"
    AND bindings.installation_id = source_events.installation_id
    AND bindings.conversation_id = source_events.conversation_id
    AND bindings.thread_id = source_events.thread_id AND source_events.thread_id <> ''
  LEFT JOIN tasks ON tasks.id = bindings.task_id`;

/** Binds a thread to a task; a thread that is bound already keeps its id. */
export async function bindThread(
  db: SqlSession,
  binding: Omit<Binding, "createdAt">,
): Promise<void> {
  await db.run(
    `INSERT INTO bindings (project, "trigger", installation_id, conversation_id, thread_id, id,
       task_id, created_at, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
     ON CONFLICT (project, "trigger", installation_id, conversation_id, thread_id)
       DO UPDATE SET task_id = ?7, updated_at = ?8`,
    ...threadValues(binding),
    binding.id,
    binding.taskId,
    binding.updatedAt,
  );
}

/**
 * Binds the thread of a task to its retry, unless the thread is bound to another task by now: to a
 * follow-up, or to a retry that has not ended.
 */
export async function bindRetry(
  db: SqlSession,
  retry: { readonly id: string; readonly of: string; readonly now: number },
): Promise<void> {
  await db.run(
    `UPDATE bindings SET task_id = ?1, updated_at = ?2
     WHERE task_id IN (SELECT ?3 UNION ALL SELECT id FROM tasks
       WHERE delivery_id = (SELECT delivery_id FROM tasks WHERE id = ?3) AND retry_of IS NOT NULL)
     AND NOT EXISTS (SELECT 1 FROM tasks
       WHERE tasks.id = bindings.task_id AND ${UNFINISHED})`,
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
export async function findThreadOfTask(
  db: SqlSession,
  taskId: string,
): Promise<ThreadKey | undefined> {
  const row = await db.get(
    `SELECT ${EVENT_COLUMNS} FROM tasks
     JOIN source_events ON source_events.delivery_id = tasks.delivery_id WHERE tasks.id = ?`,
    taskId,
  );
  const event = row === undefined ? undefined : toSourceEvent(row);
  if (event !== undefined && event.threadId !== "") return event;
  const bound = await db.get(
    `SELECT * FROM bindings WHERE task_id = ? ORDER BY updated_at DESC, project DESC, "trigger" DESC,
       installation_id DESC, conversation_id DESC, thread_id DESC LIMIT 1`,
    taskId,
  );
  return bound === undefined ? event : toBinding(bound);
}

/** Bindings whose id starts with `prefix`, at most two. */
export async function findBindings(db: SqlSession, prefix: string): Promise<Binding[]> {
  const rows = await db.all(
    "SELECT * FROM bindings WHERE id >= ? AND id < ? ORDER BY id LIMIT 2",
    prefix,
    prefixEnd(prefix),
  );
  return rows.map(toBinding);
}

/**
 * The conditions of a list of bindings. The time of a binding is that of its last change, and its id
 * that of its first.
 */
export function bindingConditions(query: BindingQuery, id = "id"): Conditions {
  const { project, trigger, since, until, ...places } = query;
  return Object.assign(
    {
      "project = ?": project,
      '"trigger" = ?': trigger,
      "updated_at >= ?": since,
      "updated_at <= ?": until,
    },
    idRange(places, id),
  );
}
