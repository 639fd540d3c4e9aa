/**
 * The table `outbox`, as both databases have it: its columns, and the statements that are the same
 * for both.
 *
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import type { MessageQuery, MessageState, NewMessage, OutboxMessage } from "../outbox_records.ts";
import type { OutboxStore } from "../outbox_store.ts";
import { canonical, laneOf, SEND_NOW } from "../rules/outbox.ts";
import { json, number, optionalNumber, storable, text } from "./columns.ts";
import { listRange, where } from "./queries.ts";
import type { Row } from "./row.ts";

/** Columns of an {@linkcode OutboxMessage}. */
export const MESSAGE_COLUMNS =
  `id, project, connection, kind, target, key, body, task_id, state, tries, next_at,
  uncertain_since, first_tried_at, external_id, reason, created_at, updated_at`;

/** Converts a row of these columns. */
export function toMessage(row: Row): OutboxMessage {
  return {
    id: text(row, "id"),
    project: text(row, "project"),
    connection: text(row, "connection"),
    kind: text(row, "kind"),
    target: json(row, "target") as JsonObject,
    key: text(row, "key"),
    body: json(row, "body") as JsonObject,
    taskId: text(row, "task_id"),
    state: text(row, "state") as MessageState,
    tries: number(row, "tries"),
    nextAt: number(row, "next_at"),
    ...optionalNumber(row, "uncertain_since", "uncertainSince"),
    ...optionalNumber(row, "first_tried_at", "firstTriedAt"),
    externalId: text(row, "external_id"),
    reason: text(row, "reason"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}

/** What names a message among those to its place: the columns of that, in the order of the index. */
export function keyValues(
  { project, connection, kind, target, key }: NewMessage,
): readonly [string, string, string, string, string] {
  return [project, connection, kind, canonical(target), storable(key)];
}

/** The conditions of a list of messages. */
export function messagesWanted(query: MessageQuery): ReturnType<typeof where> {
  return where(Object.assign(
    {
      "project = ?": query.project,
      "state = ?": query.state,
      "task_id = ?": query.taskId,
      'EXISTS (SELECT 1 FROM tasks WHERE tasks.id = task_id AND tasks."trigger" = ?)':
        query.trigger,
    },
    listRange(query, "created_at"),
  ));
}

/** What {@linkcode RETRY_MESSAGE} takes before the id. */
export function retryValues(
  { now, forget, through }: Parameters<OutboxStore["retryMessage"]>[1],
): readonly [string | null, string | null, number, number] {
  return [
    through?.connection ?? null,
    through === undefined ? null : laneOf(through),
    now,
    forget ? 1 : 0,
  ];
}

/**
 * Takes the Connection and the lane that it has from now on or nulls, the time, 1 to forget that it
 * may have arrived or 0, and the id.
 */
export const RETRY_MESSAGE = `UPDATE outbox SET state = 'pending', tries = 0, first_tried_at = NULL,
    connection = COALESCE(?, connection), lane = COALESCE(?, lane),
    next_at = ${SEND_NOW}, reason = '', updated_at = ?,
    uncertain_since = CASE WHEN ? = 1 THEN NULL ELSE uncertain_since END
  WHERE id = ? AND state <> 'sent' RETURNING ${MESSAGE_COLUMNS}`;

/** Takes the reason, the time and the id. */
export const DROP_MESSAGE = `UPDATE outbox SET state = 'dropped', reason = ?, updated_at = ?
  WHERE id = ? AND state <> 'sent' RETURNING ${MESSAGE_COLUMNS}`;

/**
 * What was sent is sent, also where somebody dropped it meanwhile. Takes the id that the other
 * system gave, the time and the id.
 */
export const MESSAGE_SENT =
  `UPDATE outbox SET state = 'sent', external_id = ?, reason = '', uncertain_since = NULL,
    updated_at = ?
  WHERE id = ? RETURNING ${MESSAGE_COLUMNS}`;

/**
 * Any other result, which counts only for a message that still waits, and not for one that somebody
 * has sent on its way again since: that has no tries. Takes its state, its reason, when it is due, the
 * time, 1 where it is known that it did not arrive or 0, and the id.
 */
export const MESSAGE_NOT_SENT =
  `UPDATE outbox SET state = ?, reason = ?, next_at = ?, updated_at = ?,
    uncertain_since = CASE WHEN ? = 1 THEN NULL ELSE uncertain_since END
  WHERE id = ? AND state = 'pending' AND tries > 0`;
