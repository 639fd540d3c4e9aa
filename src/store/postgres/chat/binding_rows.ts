/**
 * The table `bindings`: which task a thread is bound to.
 *
 * @module
 */

import type { Binding, BindingQuery, ThreadKey } from "../../source_event_records.ts";
import {
  BIND_RETRY,
  BIND_THREAD,
  bindingConditions,
  bindingValues,
  toBinding,
} from "../../sql/bindings.ts";
import { ordered, prefixEnd, where } from "../../sql/queries.ts";
import { EVENT_COLUMNS, toSourceEvent } from "../../sql/source_events.ts";
import type { Session } from "../database/connections.ts";
import { newestIds } from "../database/newest.ts";

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
  db: Session,
  binding: Omit<Binding, "createdAt">,
): Promise<void> {
  await db.run(BIND_THREAD, ...bindingValues(binding));
}

/** Binds the thread of a task to its retry. */
export async function bindRetry(
  db: Session,
  retry: { readonly id: string; readonly of: string; readonly now: number },
): Promise<void> {
  await db.run(BIND_RETRY, retry.id, retry.now, retry.of);
}

/**
 * The thread in which a task answers: that of the event whose payload the task has (a retry has the
 * payload of the task it retries); else a thread that was bound to it; else the conversation it
 * came from.
 */
export async function findThreadOfTask(
  db: Session,
  taskId: string,
): Promise<ThreadKey | undefined> {
  const row = await db.get(
    `SELECT ${EVENT_COLUMNS} FROM source_events JOIN tasks USING (delivery_id) WHERE tasks.id = ?`,
    taskId,
  );
  const event = row === undefined ? undefined : toSourceEvent(row);
  if (event !== undefined && event.threadId !== "") return event;
  const bound = await db.get(
    "SELECT * FROM bindings WHERE task_id = ? ORDER BY updated_at DESC LIMIT 1",
    taskId,
  );
  return bound === undefined ? event : toBinding(bound);
}

/** Bindings, in the order of the list. */
export async function listBindings(db: Session, query: BindingQuery): Promise<Binding[]> {
  const conditions = bindingConditions(query);
  if (query.project === undefined && query.trigger !== undefined) {
    const ids = newestIds({ table: "bindings", byProject: true, conditions }, query);
    const newest = `SELECT * FROM bindings WHERE id IN (${ids.sql}) ${ordered(query)}`;
    return (await db.all(newest, ...ids.values)).map(toBinding);
  }
  const { clause, values } = where(conditions);
  const rows = await db.all(
    `SELECT * FROM bindings ${clause} ${ordered(query)} LIMIT ?`,
    ...values,
    query.limit,
  );
  return rows.map(toBinding);
}

/** Bindings whose id starts with `prefix`, at most two. */
export async function findBindings(db: Session, prefix: string): Promise<Binding[]> {
  const rows = await db.all(
    "SELECT * FROM bindings WHERE id >= ? AND id < ? ORDER BY id LIMIT 2",
    prefix,
    prefixEnd(prefix),
  );
  return rows.map(toBinding);
}
