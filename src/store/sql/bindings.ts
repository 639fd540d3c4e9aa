/**
 * The table `bindings`, as both databases have it: its columns, and the statements that are the same
 * for both.
 *
 * @module
 */

import type { Binding, BindingQuery } from "../source_event_records.ts";
import { number, text } from "./columns.ts";
import { type Conditions, idRange } from "./queries.ts";
import type { Row, SqlValue } from "./row.ts";
import { threadValues, toThread } from "./source_events.ts";

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

/** A thread that is bound already keeps its id. Takes the values of {@linkcode bindingValues}. */
export const BIND_THREAD = `INSERT INTO bindings (project, "trigger", installation_id,
    conversation_id, thread_id, id, task_id, created_at, updated_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
  ON CONFLICT (project, "trigger", installation_id, conversation_id, thread_id)
    DO UPDATE SET task_id = ?7, updated_at = ?8`;

/** The values of a binding. */
export function bindingValues(binding: Omit<Binding, "createdAt">): readonly SqlValue[] {
  return [...threadValues(binding), binding.id, binding.taskId, binding.updatedAt];
}

/**
 * Binds the thread of a task to its retry, unless the thread is bound to another task by now: to a
 * follow-up, or to a retry that has not ended. Takes the retry, the time, and the task.
 */
export const BIND_RETRY = `UPDATE bindings SET task_id = ?1, updated_at = ?2
  WHERE task_id IN (SELECT ?3 UNION ALL SELECT id FROM tasks
    WHERE delivery_id = (SELECT delivery_id FROM tasks WHERE id = ?3) AND retry_of IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM tasks
    WHERE tasks.id = bindings.task_id AND state IN ('pending', 'running'))`;

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
