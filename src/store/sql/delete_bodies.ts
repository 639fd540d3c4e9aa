/**
 * The deletion of bodies of deliveries that stay, written once for both databases, as in
 * `delete_records.ts`.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { whyNoBody } from "../rules/deleted_body.ts";
import type { DeliveryDetail } from "../delivery_records.ts";
import type { BodyResult } from "../retention_store.ts";
import { json, number, text } from "./columns.ts";
import { handOnContent, ofFirst } from "./delete_records.ts";
import { IS_MESSAGE, messagesOf, tasksTold } from "./inbox.ts";
import type { SqlSession } from "./session.ts";

/** The conditions under which a body may be deleted. */
interface When {
  /** The body arrived before this time, and its tasks ended before it. */
  readonly before: number;
  readonly now: number;
}

/** Deletes the bodies of those of these deliveries that nothing needs. */
export async function deleteBodies(
  db: SqlSession,
  { ids, ...when }: When & { readonly ids: readonly string[] },
): Promise<BodyResult> {
  let deleted = 0;
  const needed: string[] = [];
  for (const id of ids) {
    const row = await db.get(
      `SELECT received_at, detail, content_of FROM deliveries
       WHERE id = ? AND (body IS NOT NULL OR content_of IS NOT NULL)`,
      id,
    );
    if (row === undefined || number(row, "received_at") >= when.before) continue;
    if (await isNeeded(db, id, when.before)) {
      needed.push(id);
      continue;
    }
    const holder = row["content_of"] === null ? undefined : text(row, "content_of");
    const detail = { ...json(row, "detail") as DeliveryDetail, bodyDeletedAt: when.now };
    await deleteBody(db, id, holder, JSON.stringify(detail));
    deleted++;
  }
  return { deleted, needed };
}

/**
 * Whether something still needs the body: a task that it started, one that has it as a message and may start
 * a follow-up with it, or a chat event.
 */
async function isNeeded(db: SqlSession, id: string, before: number): Promise<boolean> {
  const told = JSON.stringify(await tasksTold(db, id));
  const tasks = [["delivery_id = ?", id], [
    "id IN (SELECT value FROM json_each(?))",
    told,
  ]] as const;
  for (const [condition, of] of tasks) {
    // The lock comes first, so that no retry begins meanwhile: storing one takes this lock, too.
    await db.all(`SELECT id FROM tasks WHERE ${condition} ORDER BY id ${db.dialect.forUpdate}`, of);
    const busy = await db.get(
      `SELECT 1 FROM tasks WHERE ${condition} AND (finished_at IS NULL OR finished_at >= ?
         OR EXISTS (SELECT 1 FROM task_ends WHERE task_ends.task_id = tasks.id)) LIMIT 1`,
      of,
      before,
    );
    if (busy !== undefined) return true;
  }
  const open = await db.get(
    `SELECT 1 FROM source_events AS event WHERE delivery_id = ? AND (state IN ('received', 'routing')
       OR EXISTS (SELECT 1 FROM tasks WHERE tasks.id = event.task_id AND finished_at IS NULL))
     LIMIT 1`,
    id,
  );
  return open !== undefined;
}

/**
 * Refuses to run a task again whose payload was deleted with the body of its delivery.
 *
 * @throws {AppError} `conflict`
 */
export async function checkPayload(db: SqlSession, task: string): Promise<void> {
  const gone = await db.get(
    `SELECT deliveries.id, deliveries.detail FROM tasks
     JOIN deliveries ON deliveries.id = tasks.delivery_id
     WHERE tasks.id = ? AND tasks.payload IS NULL AND deliveries.body IS NULL
       AND deliveries.content_of IS NULL`,
    task,
  );
  if (gone === undefined) return;
  const { bodyDeletedAt } = json(gone, "detail") as DeliveryDetail;
  throw new AppError(
    "conflict",
    `Task ${task} cannot be retried: the body of delivery ${text(gone, "id")}, which is its ` +
      `payload, ${whyNoBody(bodyDeletedAt)}`,
  );
}

async function deleteBody(
  db: SqlSession,
  id: string,
  holder: string | undefined,
  detail: string,
): Promise<void> {
  if (holder === undefined) {
    await handOnContent(db, id);
    await db.run("UPDATE deliveries SET body = NULL, detail = ? WHERE id = ?", detail, id);
  } else {
    await db.run(
      `UPDATE deliveries SET content_of = NULL, headers = ${ofFirst("headers")},
         url = ${ofFirst("url")}, detail = ?2 WHERE id = ?3`,
      holder,
      detail,
      id,
    );
  }
  await db.run(
    "DELETE FROM inbox WHERE task_id IN (SELECT id FROM tasks WHERE delivery_id = ?)",
    id,
  );
  for (const one of await messagesOf(db, id)) {
    await db.run(`DELETE FROM inbox WHERE ${IS_MESSAGE}`, ...one);
  }
  // What a step gave to the tasks that it started is mostly a part of the payload.
  await db.run(
    `UPDATE waits SET shown = NULL WHERE kind = 'task' AND shown IS NOT NULL
       AND task_id IN (SELECT id FROM tasks WHERE delivery_id = ?)`,
    id,
  );
  await db.run(
    `UPDATE tasks SET payload = NULL, inputs = NULL
     WHERE delivery_id = ? AND (payload IS NOT NULL OR inputs IS NOT NULL)`,
    id,
  );
  await db.run("UPDATE source_events SET text = '', payload = NULL WHERE delivery_id = ?", id);
}
