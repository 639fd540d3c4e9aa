/**
 * The deletion of one record with its content, written once for both databases: steps that yield
 * statements and are handed the rows of each. All of it is one transaction.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { checkCascade, checkDeletion, type DoomedTask } from "../rules/deletion.ts";
import type { SourceEventState } from "../source_event_records.ts";
import type { TaskState } from "../task_records.ts";
import { number, text } from "./columns.ts";
import type { Row, SqlValue } from "./row.ts";

/** One statement of a deletion. */
export interface DeletionStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** Whether it changes rows and gives none. */
  readonly changes: boolean;
  /** Whether the rows it reads have to stay as they are until the end. */
  readonly locks?: boolean;
}

/** Steps of a deletion. */
export type DeletionSteps<Result> = Generator<DeletionStatement, Result, readonly Row[]>;

/** What a deletion comes to. */
export interface Doomed {
  readonly deleted: readonly string[];
  readonly keptBy: readonly string[];
  /** Ids of the tasks whose rows are left to the store, which also counts the uses of their plans. */
  readonly tasks: readonly string[];
}

/** A task with what its other rows are found by. */
interface FoundTask extends DoomedTask {
  readonly project: string;
  readonly trigger: string;
  readonly deliveryId: string;
}

/** A chat event whose content goes. */
interface FoundEvent {
  readonly id: string;
  readonly state: SourceEventState;
  readonly taskId: string;
  readonly deliveryId: string;
}

/** Deletes what belongs to a task, all but its own row and steps. */
export function* deleteTaskSteps(
  id: string,
  { dryRun }: { readonly dryRun: boolean },
): DeletionSteps<Doomed> {
  const tasks = yield* findTasks("id = ?", id);
  const [task] = tasks;
  if (task === undefined) throw new AppError("not_found", `No task "${id}"`);
  const events = yield* findEventsOf(tasks);
  yield* check(tasks, tasks, events);
  const others = task.deliveryId === ""
    ? []
    : yield* findTasks("delivery_id = ? AND id <> ?", task.deliveryId, id);
  const deliveries = yield* findDeliveries([task.deliveryId, ...events.map((e) => e.deliveryId)]);
  if (!dryRun) yield* removeTasks(tasks, events);
  return {
    deleted: [`task/${id}`],
    keptBy: [...deliveries, ...others.map((one) => `task/${one.id}`)],
    tasks: [id],
  };
}

/** Deletes a delivery and what belongs to it, all but the rows and steps of its tasks. */
export function* deleteDeliverySteps(
  id: string,
  { cascade, dryRun }: { readonly cascade: boolean; readonly dryRun: boolean },
): DeletionSteps<Doomed> {
  const [found] = yield* read("SELECT id FROM deliveries WHERE id = ?", id);
  if (found === undefined) throw new AppError("not_found", `No delivery "${id}"`);
  const tasks = yield* findTasks("delivery_id = ?", id);
  checkCascade(id, tasks, cascade);
  const own = toEvents(
    yield* read(
      "SELECT id, state, task_id, delivery_id FROM source_events WHERE delivery_id = ?",
      id,
    ),
  );
  const ofTasks = (yield* findEventsOf(tasks)).filter((one) => one.deliveryId !== id);
  const events = [...own, ...ofTasks];
  // A reply is also in the inbox of the task that it went to.
  const readers = yield* findTasks(
    "id IN (SELECT value FROM json_each(?))",
    JSON.stringify(own.map(({ taskId }) => taskId)),
  );
  yield* check([...tasks, ...readers], tasks, events);
  const sharing = yield* read("SELECT id FROM deliveries WHERE content_of = ?", id);
  const kept = yield* read(
    "SELECT content_of FROM deliveries WHERE id = ? AND content_of IS NOT NULL",
    id,
  );
  const elsewhere = yield* findDeliveries([
    ...sharing.map((row) => text(row, "id")),
    ...kept.map((row) => text(row, "content_of")),
    ...ofTasks.map(({ deliveryId }) => deliveryId),
  ]);
  if (!dryRun) {
    yield* removeTasks(tasks, events);
    yield* removeMessages(own);
    yield* handOnContent(id);
    yield change("DELETE FROM deliveries WHERE id = ?", id);
  }
  return {
    deleted: [`delivery/${id}`, ...tasks.map((one) => `task/${one.id}`)],
    keptBy: elsewhere,
    tasks: tasks.map((one) => one.id),
  };
}

/** Gives what arrived with a delivery to another one that shares it, for all others, too. */
export function* handOnContent(id: string): DeletionSteps<void> {
  const [heir = {}] = yield* read("SELECT max(id) AS id FROM deliveries WHERE content_of = ?", id);
  if (heir["id"] === null) return;
  const to = text(heir, "id");
  yield change(
    `UPDATE deliveries SET content_of = NULL, headers = ${ofFirst("headers")},
       body = ${ofFirst("body")}, url = ${ofFirst("url")} WHERE id = ?2`,
    id,
    to,
  );
  yield change("UPDATE deliveries SET content_of = ? WHERE content_of = ?", to, id);
}

/** A column of the delivery whose id is the first value of a statement. */
export const ofFirst = (column: string): string =>
  `(SELECT ${column} FROM deliveries AS one WHERE one.id = ?1)`;

/** A statement that changes rows. */
export const change = (sql: string, ...values: readonly SqlValue[]): DeletionStatement => ({
  sql,
  values,
  changes: true,
});

/** Reads rows. */
export function* read(sql: string, ...values: readonly SqlValue[]): DeletionSteps<readonly Row[]> {
  return yield { sql, values, changes: false };
}

function* findTasks(
  condition: string,
  ...values: readonly SqlValue[]
): DeletionSteps<readonly FoundTask[]> {
  const rows = yield {
    sql: `SELECT id, project, "trigger", state, delivery_id, CASE WHEN EXISTS (
         SELECT 1 FROM task_ends WHERE task_ends.task_id = tasks.id) THEN 1 ELSE 0 END AS is_ending
       FROM tasks WHERE ${condition} ORDER BY id`,
    values,
    changes: false,
    locks: true,
  };
  return rows.map((row) => ({
    id: text(row, "id"),
    project: text(row, "project"),
    trigger: text(row, "trigger"),
    state: text(row, "state") as TaskState,
    deliveryId: text(row, "delivery_id"),
    isEnding: number(row, "is_ending") === 1,
  }));
}

/** Chat events that went to these tasks. */
function* findEventsOf(tasks: readonly FoundTask[]): DeletionSteps<readonly FoundEvent[]> {
  const found: FoundEvent[] = [];
  for (const { id, project, trigger } of tasks) {
    const rows = yield* read(
      `SELECT id, state, task_id, delivery_id FROM source_events
       WHERE project = ? AND "trigger" = ? AND task_id = ? ORDER BY id`,
      project,
      trigger,
      id,
    );
    found.push(...toEvents(rows));
  }
  return found;
}

function toEvents(rows: readonly Row[]): readonly FoundEvent[] {
  return rows.map((row) => ({
    id: text(row, "id"),
    state: text(row, "state") as SourceEventState,
    taskId: text(row, "task_id"),
    deliveryId: text(row, "delivery_id"),
  }));
}

function* check(
  tasks: readonly FoundTask[],
  sending: readonly FoundTask[],
  events: readonly FoundEvent[],
): DeletionSteps<void> {
  const waitingMessages: string[] = [];
  for (const { id, project } of sending) {
    const rows = yield* read(
      "SELECT id FROM outbox WHERE project = ? AND task_id = ? AND state = 'pending' ORDER BY id",
      project,
      id,
    );
    waitingMessages.push(...rows.map((row) => text(row, "id")));
  }
  checkDeletion({ tasks, waitingMessages, events });
}

/** Those of the deliveries that are stored, as `delivery/ID`. */
function* findDeliveries(ids: readonly string[]): DeletionSteps<readonly string[]> {
  const rows = yield* read(
    "SELECT id FROM deliveries WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
    JSON.stringify(ids),
  );
  return rows.map((row) => `delivery/${text(row, "id")}`);
}

/** What is said of a chat event whose content is gone. */
const CONTENT_DELETED = "its content was deleted";

/**
 * Removes what belongs to tasks. Where a task has done its work, its event stays a duplicate when
 * it is sent again: the digest of its key is kept without a task. So is the row of a chat event,
 * without its content. Keys are found by looking at all of them: an index would cost every delivery.
 */
function* removeTasks(
  tasks: readonly FoundTask[],
  events: readonly FoundEvent[],
): DeletionSteps<void> {
  for (const { id, project, state } of tasks) {
    if (state === "succeeded") {
      yield change("UPDATE dedup_keys SET task_id = '' WHERE task_id = ?", id);
    } else yield change("DELETE FROM dedup_keys WHERE task_id = ?", id);
    yield change("DELETE FROM outbox WHERE project = ? AND task_id = ?", project, id);
    yield change("DELETE FROM bindings WHERE task_id = ?", id);
  }
  for (const { id, state } of events) {
    const canBeRouted = state !== "routed";
    yield change(
      `UPDATE source_events SET text = '', actor = '', payload = NULL, task_id = '',
         state = ?, reason = ? WHERE id = ?`,
      canBeRouted ? "ignored" : state,
      CONTENT_DELETED,
      id,
    );
  }
}

/** Removes what chat events brought to the inboxes of tasks that stay. */
export function* removeMessages(
  events: readonly Pick<FoundEvent, "id" | "taskId">[],
): DeletionSteps<void> {
  for (const { id, taskId } of events) {
    if (taskId === "") continue;
    const rows = yield* read("SELECT position, message FROM inbox WHERE task_id = ?", taskId);
    for (const row of rows) {
      const message = JSON.parse(text(row, "message")) as { readonly source_event_id?: unknown };
      if (message.source_event_id !== id) continue;
      yield change(
        "DELETE FROM inbox WHERE task_id = ? AND position = ?",
        taskId,
        number(row, "position"),
      );
    }
  }
}
