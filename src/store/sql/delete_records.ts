/**
 * The deletion of one record with its content, written once for both databases. All of it is one
 * transaction.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { checkCascade, checkDeletion, type DoomedTask } from "../rules/deletion.ts";
import type { SourceEventState } from "../source_event_records.ts";
import type { TaskState } from "../task_records.ts";
import { number, text } from "./columns.ts";
import { IS_MESSAGE, messagesOf, tasksTold } from "./inbox.ts";
import type { Row, SqlValue } from "./row.ts";
import type { SqlSession } from "./session.ts";

/** The records that were deleted, and what is left to delete. */
export interface DeletedParts {
  readonly deleted: readonly string[];
  readonly keptBy: readonly string[];
  /**
   * Ids of the tasks whose rows are left to the store, which also counts the uses of their plans.
   */
  readonly tasks: readonly string[];
}

/** A task with the values by which its rows in other tables are found. */
interface KeyedTask extends DoomedTask {
  readonly project: string;
  readonly trigger: string;
  readonly deliveryId: string;
}

/** A chat event whose content is deleted. */
interface DoomedEvent {
  readonly id: string;
  readonly state: SourceEventState;
  readonly taskId: string;
  readonly deliveryId: string;
}

/** Deletes what belongs to a task, all but its own row and steps. */
export async function deletePartsOfTask(
  db: SqlSession,
  id: string,
  { dryRun }: { readonly dryRun: boolean },
): Promise<DeletedParts> {
  const tasks = await findTasks(db, "id = ?", id);
  const [task] = tasks;
  if (task === undefined) throw new AppError("not_found", `No task "${id}"`);
  const events = await findEventsOf(db, tasks);
  await check(db, tasks, tasks, events);
  const others = task.deliveryId === ""
    ? []
    : await findTasks(db, "delivery_id = ? AND id <> ?", task.deliveryId, id);
  const deliveries = await findDeliveries(db, [
    task.deliveryId,
    ...events.map((e) => e.deliveryId),
  ]);
  if (!dryRun) await removeTasks(db, tasks, events);
  return {
    deleted: [`task/${id}`],
    keptBy: [...deliveries, ...others.map((one) => `task/${one.id}`)],
    tasks: [id],
  };
}

/** Deletes a delivery and what belongs to it, all but the rows and steps of its tasks. */
export async function deletePartsOfDelivery(
  db: SqlSession,
  id: string,
  { cascade, dryRun }: { readonly cascade: boolean; readonly dryRun: boolean },
): Promise<DeletedParts> {
  const found = await db.get("SELECT id FROM deliveries WHERE id = ?", id);
  if (found === undefined) throw new AppError("not_found", `No delivery "${id}"`);
  const tasks = await findTasks(db, "delivery_id = ?", id);
  checkCascade(id, tasks, cascade);
  const own = toEvents(
    await db.all(
      "SELECT id, state, task_id, delivery_id FROM source_events WHERE delivery_id = ?",
      id,
    ),
  );
  const ofTasks = (await findEventsOf(db, tasks)).filter((one) => one.deliveryId !== id);
  const events = [...own, ...ofTasks];
  // A reply, and an event of a conversation, is also in the inbox of the task that it went to.
  const messages = await messagesOf(db, id);
  const readers = await findTasks(
    db,
    "id IN (SELECT value FROM json_each(?))",
    JSON.stringify(await tasksTold(db, id)),
  );
  await check(db, [...tasks, ...readers], tasks, events);
  const sharing = await db.all("SELECT id FROM deliveries WHERE content_of = ?", id);
  const kept = await db.all(
    "SELECT content_of FROM deliveries WHERE id = ? AND content_of IS NOT NULL",
    id,
  );
  const elsewhere = await findDeliveries(db, [
    ...sharing.map((row) => text(row, "id")),
    ...kept.map((row) => text(row, "content_of")),
    ...ofTasks.map(({ deliveryId }) => deliveryId),
  ]);
  if (!dryRun) {
    await removeTasks(db, tasks, events);
    for (const one of messages) await db.run(`DELETE FROM inbox WHERE ${IS_MESSAGE}`, ...one);
    await handOnContent(db, id);
    await db.run("DELETE FROM deliveries WHERE id = ?", id);
  }
  return {
    deleted: [`delivery/${id}`, ...tasks.map((one) => `task/${one.id}`)],
    keptBy: elsewhere,
    tasks: tasks.map((one) => one.id),
  };
}

/**
 * Moves the content of a delivery to the newest delivery that shares it. The others refer to that
 * one from then on.
 */
export async function handOnContent(db: SqlSession, id: string): Promise<void> {
  const heir = await db.get("SELECT max(id) AS id FROM deliveries WHERE content_of = ?", id);
  if (heir === undefined || heir["id"] === null) return;
  const to = text(heir, "id");
  await db.run(
    `UPDATE deliveries SET content_of = NULL, headers = ${ofFirst("headers")},
       body = ${ofFirst("body")}, url = ${ofFirst("url")} WHERE id = ?2`,
    id,
    to,
  );
  await db.run("UPDATE deliveries SET content_of = ? WHERE content_of = ?", to, id);
}

/** SQL for a column of the delivery whose id is the first value of the statement. */
export const ofFirst = (column: string): string =>
  `(SELECT ${column} FROM deliveries AS one WHERE one.id = ?1)`;

async function findTasks(
  db: SqlSession,
  condition: string,
  ...values: readonly SqlValue[]
): Promise<readonly KeyedTask[]> {
  const rows = await db.all(
    `SELECT id, project, "trigger", state, delivery_id, CASE WHEN EXISTS (
         SELECT 1 FROM task_ends WHERE task_ends.task_id = tasks.id) THEN 1 ELSE 0 END AS is_ending
       FROM tasks WHERE ${condition} ORDER BY id ${db.dialect.forUpdate}`,
    ...values,
  );
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
async function findEventsOf(
  db: SqlSession,
  tasks: readonly KeyedTask[],
): Promise<readonly DoomedEvent[]> {
  const found: DoomedEvent[] = [];
  for (const { id, project, trigger } of tasks) {
    const rows = await db.all(
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

function toEvents(rows: readonly Row[]): readonly DoomedEvent[] {
  return rows.map((row) => ({
    id: text(row, "id"),
    state: text(row, "state") as SourceEventState,
    taskId: text(row, "task_id"),
    deliveryId: text(row, "delivery_id"),
  }));
}

async function check(
  db: SqlSession,
  tasks: readonly KeyedTask[],
  sending: readonly KeyedTask[],
  events: readonly DoomedEvent[],
): Promise<void> {
  const waitingMessages: string[] = [];
  for (const { id, project } of sending) {
    const rows = await db.all(
      `SELECT id FROM outbox WHERE project = ? AND task_id = ? AND state IN ('held', 'pending')
       ORDER BY id`,
      project,
      id,
    );
    waitingMessages.push(...rows.map((row) => text(row, "id")));
  }
  checkDeletion({ tasks, waitingMessages, events });
}

/** The deliveries of these that are stored, as `delivery/ID`. */
async function findDeliveries(db: SqlSession, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await db.all(
    "SELECT id FROM deliveries WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
    JSON.stringify(ids),
  );
  return rows.map((row) => `delivery/${text(row, "id")}`);
}

const CONTENT_DELETED = "its content was deleted";

/**
 * Removes what belongs to tasks. Where a task has done its work, its event stays a duplicate when
 * it is sent again: the digest of its key is kept without a task. So is the row of a chat event,
 * without its content. Keys are found by looking at all of them: an index would cost every
 * delivery.
 */
async function removeTasks(
  db: SqlSession,
  tasks: readonly KeyedTask[],
  events: readonly DoomedEvent[],
): Promise<void> {
  for (const { id, project, state } of tasks) {
    if (state === "succeeded") {
      await db.run("UPDATE dedup_keys SET task_id = '' WHERE task_id = ?", id);
    } else await db.run("DELETE FROM dedup_keys WHERE task_id = ?", id);
    await db.run(
      `DELETE FROM outbox_content WHERE message_id IN
         (SELECT id FROM outbox WHERE project = ? AND task_id = ?)`,
      project,
      id,
    );
    await db.run("DELETE FROM outbox WHERE project = ? AND task_id = ?", project, id);
    await db.run("DELETE FROM bindings WHERE task_id = ?", id);
  }
  for (const { id, state } of events) {
    const canBeRouted = state !== "routed";
    await db.run(
      `UPDATE source_events SET text = '', actor = '', payload = NULL, task_id = '',
         state = ?, reason = ? WHERE id = ?`,
      canBeRouted ? "ignored" : state,
      CONTENT_DELETED,
      id,
    );
  }
}
