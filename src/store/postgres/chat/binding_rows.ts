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
import type { Session, Value } from "../database/connections.ts";
import { listed, newestIds } from "../database/newest.ts";

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
    `SELECT * FROM bindings WHERE task_id = ? ORDER BY updated_at DESC, project DESC, "trigger" DESC,
       installation_id DESC, conversation_id DESC, thread_id DESC LIMIT 1`,
    taskId,
  );
  return bound === undefined ? event : toBinding(bound);
}

/** Bindings, in the order of the list. */
export async function listBindings(db: Session, query: BindingQuery): Promise<Binding[]> {
  if (query.ids !== undefined || (query.project ?? query.trigger) === undefined) {
    const { clause, values } = where(bindingConditions(query));
    return await read(db, `${clause} ${ordered(query)} LIMIT ?`, [...values, query.limit]);
  }
  const conditions = bindingConditions(query, listed("id"));
  const newest = newestIds({ table: "bindings", conditions }, query);
  return await read(db, `WHERE id IN (${newest.sql}) ${ordered(query)}`, newest.values);
}

async function read(db: Session, tail: string, values: readonly Value[]): Promise<Binding[]> {
  return (await db.all(`SELECT * FROM bindings ${tail}`, ...values)).map(toBinding);
}

/** Bindings whose id starts with `prefix`, at most two. */
export function findBindings(db: Session, prefix: string): Promise<Binding[]> {
  return read(db, "WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", [prefix, prefixEnd(prefix)]);
}
