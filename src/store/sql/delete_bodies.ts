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
import {
  change,
  type DeletionSteps,
  handOnContent,
  ofFirst,
  read,
  removeMessages,
} from "./delete_records.ts";
import type { Row } from "./row.ts";

/** When a body may go. */
interface When {
  /** It arrived before, and its tasks have ended before. */
  readonly before: number;
  readonly now: number;
}

/** Deletes the bodies of those of these deliveries that nothing needs. */
export function* deleteBodiesSteps(
  { ids, ...when }: When & { readonly ids: readonly string[] },
): DeletionSteps<BodyResult> {
  let deleted = 0;
  const needed: string[] = [];
  for (const id of ids) {
    const [row] = yield* read(
      `SELECT received_at, detail, content_of FROM deliveries
       WHERE id = ? AND (body IS NOT NULL OR content_of IS NOT NULL)`,
      id,
    );
    if (row === undefined || number(row, "received_at") >= when.before) continue;
    if (yield* isNeeded(id, when.before)) {
      needed.push(id);
      continue;
    }
    const holder = row["content_of"] === null ? undefined : text(row, "content_of");
    const detail = { ...json(row, "detail") as DeliveryDetail, bodyDeletedAt: when.now };
    yield* deleteBody(id, holder, JSON.stringify(detail));
    deleted++;
  }
  return { deleted, needed };
}

/** Whether a task or a chat event has still to do with what arrived. */
function* isNeeded(id: string, before: number): DeletionSteps<boolean> {
  // First, so that no retry begins meanwhile: storing one takes this lock, too.
  yield { sql: LOCK_TASKS, values: [id], changes: false, locks: true };
  const [busy] = yield* read(
    `SELECT 1 FROM tasks WHERE delivery_id = ? AND (finished_at IS NULL OR finished_at >= ?
       OR EXISTS (SELECT 1 FROM task_ends WHERE task_ends.task_id = tasks.id)) LIMIT 1`,
    id,
    before,
  );
  if (busy !== undefined) return true;
  const [open] = yield* read(
    `SELECT 1 FROM source_events AS event WHERE delivery_id = ? AND (state IN ('received', 'routing')
       OR EXISTS (SELECT 1 FROM tasks WHERE tasks.id = event.task_id AND finished_at IS NULL))
     LIMIT 1`,
    id,
  );
  return open !== undefined;
}

/** Finds the delivery with whose body the payload of a task was deleted, if it was. */
export const PAYLOAD_GONE = `SELECT deliveries.id, deliveries.detail FROM tasks
  JOIN deliveries ON deliveries.id = tasks.delivery_id
  WHERE tasks.id = ? AND tasks.payload IS NULL AND deliveries.body IS NULL
    AND deliveries.content_of IS NULL`;

/**
 * Refuses to run again what has no payload any more.
 *
 * @throws {AppError} `conflict` where {@linkcode PAYLOAD_GONE} has found one.
 */
export function checkPayload(task: string, gone: Row | undefined): void {
  if (gone === undefined) return;
  const { bodyDeletedAt } = json(gone, "detail") as DeliveryDetail;
  throw new AppError(
    "conflict",
    `Task ${task} cannot be retried: the body of delivery ${text(gone, "id")}, which is its ` +
      `payload, ${whyNoBody(bodyDeletedAt)}`,
  );
}

const LOCK_TASKS = "SELECT id FROM tasks WHERE delivery_id = ? ORDER BY id";

function* deleteBody(
  id: string,
  holder: string | undefined,
  detail: string,
): DeletionSteps<void> {
  if (holder === undefined) {
    yield* handOnContent(id);
    yield change("UPDATE deliveries SET body = NULL, detail = ? WHERE id = ?", detail, id);
  } else {
    yield change(
      `UPDATE deliveries SET content_of = NULL, headers = ${ofFirst("headers")},
         url = ${ofFirst("url")}, detail = ?2 WHERE id = ?3`,
      holder,
      detail,
      id,
    );
  }
  yield change(
    "DELETE FROM inbox WHERE task_id IN (SELECT id FROM tasks WHERE delivery_id = ?)",
    id,
  );
  yield change(
    "UPDATE tasks SET payload = NULL WHERE delivery_id = ? AND payload IS NOT NULL",
    id,
  );
  const events = yield* read("SELECT id, task_id FROM source_events WHERE delivery_id = ?", id);
  yield* removeMessages(
    events.map((row) => ({ id: text(row, "id"), taskId: text(row, "task_id") })),
  );
  yield change("UPDATE source_events SET text = '', payload = NULL WHERE delivery_id = ?", id);
}
