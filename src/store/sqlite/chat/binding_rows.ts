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
import { text } from "../../sql/columns.ts";
import { ordered, prefixEnd, where } from "../../sql/queries.ts";
import { OF_THREAD, threadValues } from "../../sql/source_events.ts";
import type { Database } from "../engine/database.ts";
import { ofEachProject } from "../engine/newest.ts";
import { findEventOfDelivery } from "./source_event_rows.ts";

/** Id of the task that a thread is bound to. */
export function findBound(db: Database, thread: ThreadKey): string | undefined {
  if (thread.threadId === "") return undefined;
  const row = db.get(
    `SELECT task_id FROM bindings WHERE ${OF_THREAD}`,
    ...threadValues(thread),
  );
  return row === undefined ? undefined : text(row, "task_id");
}

/** Binds a thread to a task; a thread that is bound already keeps its id. */
export function bindThread(db: Database, binding: Omit<Binding, "createdAt">): void {
  db.run(BIND_THREAD, ...bindingValues(binding));
}

/** Binds the thread of a task to its retry. */
export function bindRetry(
  db: Database,
  retry: { readonly id: string; readonly of: string; readonly now: number },
): void {
  db.run(BIND_RETRY, retry.id, retry.now, retry.of);
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
  const { project, trigger } = query;
  const { clause, values } = where(bindingConditions(query));
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
