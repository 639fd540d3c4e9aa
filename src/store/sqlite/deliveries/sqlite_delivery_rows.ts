/**
 * Rows of deliveries in SQLite, and of what events are judged by, as the transactions read and
 * change them.
 *
 * @module
 */

import { utf8 } from "../../../base/bytes.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { Cursor, KeyedEvent } from "../../delivery_records.ts";
import type { ConversationTask } from "../../rules/conversation.ts";
import type { EarlierEvent } from "../../rules/event_outcome.ts";
import { dedupDigest, digestOfConversation } from "../../rules/keys.ts";
import type { Found } from "../../rules/needs.ts";
import type { RateState } from "../../rules/rate_limit.ts";
import { number, storable, text } from "../../sql/columns.ts";
import { COUNT_INBOX, OF_CHAT, toConversationTask } from "../../sql/conversations.ts";
import { MOVE_CURSOR } from "../../sql/cursors.ts";
import { DELIVERY_COLUMNS, SUMMARY_COLUMNS, toSummary } from "../../sql/deliveries.ts";
import { toEarlierEvent } from "../../sql/task_facts.ts";
import type { Row } from "../../sql/row.ts";
import type { NewTask, TaskState } from "../../task_records.ts";
import type {
  DeliveryFacts,
  DeliveryRows,
  DeliverySummary,
  HandedOver,
  InboxFacts,
  OwnContent,
  RememberedEvent,
  SharedContent,
  TriggerKey,
} from "../../transactions/task_rows.ts";
import type { Database } from "../engine/database.ts";
import { SqliteTaskRows } from "../tasks/sqlite_task_rows.ts";

/** All rows that transactions read and change. */
export class SqliteDeliveryRows extends SqliteTaskRows implements DeliveryRows {
  /** A key whose task was deleted by hand after it had succeeded names none, and still counts. */
  findEarlier(keyed: KeyedEvent): Found<EarlierEvent> {
    const row = this.db.get(
      `SELECT dedup_keys.delivery_id, dedup_keys.task_id, dedup_keys.created_at AS received_at,
         CASE dedup_keys.task_id WHEN '' THEN 'succeeded' ELSE tasks.state END AS state
       FROM dedup_keys LEFT JOIN tasks ON tasks.id = dedup_keys.task_id
       WHERE digest = ? AND (tasks.id IS NOT NULL OR dedup_keys.task_id = '')`,
      dedupDigest(keyed) ?? null,
    );
    return row === undefined ? "none" : toEarlierEvent(row);
  }

  /** Each call also removes two old keys, so that the table never holds many more than new ones. */
  rememberKey(keyed: KeyedEvent, event: RememberedEvent): void {
    const digest = dedupDigest(keyed);
    if (digest === undefined) return;
    this.db.run(
      `DELETE FROM dedup_keys WHERE created_at <= ?
         AND position IN (SELECT position FROM dedup_keys ORDER BY position LIMIT 2)`,
      event.forgetUpTo,
    );
    this.db.run(
      "INSERT OR REPLACE INTO dedup_keys (digest, delivery_id, task_id, created_at) VALUES (?, ?, ?, ?)",
      digest,
      event.deliveryId,
      event.taskId,
      event.receivedAt,
    );
  }

  findConversation(task: NewTask): Found<ConversationTask> {
    const row = this.db.get(
      `SELECT tasks.id, state, cancel_reason, messages, message_bytes, read_up_to,
         EXISTS (SELECT 1 FROM task_ends WHERE task_ends.task_id = tasks.id) AS has_end
       FROM conversations JOIN tasks ON tasks.id = conversations.task_id WHERE digest = ?`,
      digestOfConversation(task) ?? null,
    );
    if (row === undefined) return "none";
    return toConversationTask({
      taskId: text(row, "id"),
      state: text(row, "state") as TaskState,
      ...row["cancel_reason"] === null ? {} : { cancelReason: text(row, "cancel_reason") },
      hasEnd: row["has_end"] === 1,
      inbox: toInbox(row),
    });
  }

  bindConversation(task: NewTask, now: number): void {
    const { id, conversation } = task;
    const digest = digestOfConversation(task);
    if (digest === undefined || conversation === undefined) return;
    this.db.run(
      `INSERT INTO conversations (digest, id, project, name, key, task_id, created_at, updated_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?2, ?6, ?6)
       ON CONFLICT (digest) DO UPDATE SET task_id = ?2, updated_at = ?6`,
      digest,
      id,
      task.project,
      conversation.name,
      storable(conversation.key),
      now,
    );
  }

  addMessage(taskId: string, message: JsonObject, now: number): void {
    const json = JSON.stringify(message);
    this.db.run(
      `INSERT INTO inbox SELECT ?1, messages, ?2, ?3 FROM tasks WHERE id = ?1`,
      taskId,
      json,
      now,
    );
    this.db.run(
      "UPDATE tasks SET messages = messages + 1, message_bytes = message_bytes + ? WHERE id = ?",
      utf8(json).length,
      taskId,
    );
  }

  handOver({ from, except, to }: HandedOver): void {
    this.db.run(
      `INSERT INTO inbox
       SELECT ?1, row_number() OVER (ORDER BY position) - 1, message, inbox.created_at
       FROM inbox JOIN tasks ON tasks.id = task_id
       WHERE task_id = ?2 AND position >= read_up_to AND position <> ?3 AND NOT ${OF_CHAT}`,
      to,
      from,
      except,
    );
    this.db.run(`${COUNT_INBOX} WHERE id = ?`, to);
  }

  findRate({ project, trigger }: TriggerKey): Found<RateState> {
    const row = this.db.get(
      'SELECT due_at, seen_at FROM rates WHERE project = ? AND "trigger" = ?',
      project,
      trigger,
    );
    if (row === undefined) return "none";
    return { dueAt: number(row, "due_at"), seenAt: number(row, "seen_at") };
  }

  keepRate({ project, trigger }: TriggerKey, rate: RateState): void {
    this.db.run(
      `INSERT INTO rates VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT DO UPDATE SET due_at = ?3, seen_at = ?4`,
      project,
      trigger,
      rate.dueAt,
      rate.seenAt,
    );
  }

  findSummary(deliveryId: string): Found<DeliverySummary> {
    const row = this.db.get(`SELECT ${SUMMARY_COLUMNS} FROM deliveries WHERE id = ?`, deliveryId);
    return row === undefined ? "none" : toSummary(row);
  }

  insertDelivery(
    facts: DeliveryFacts,
    summary: DeliverySummary,
    content?: OwnContent | SharedContent,
  ): void {
    const elsewhere = content !== undefined && "contentOf" in content ? content : undefined;
    const kept = content !== undefined && "body" in content ? content : undefined;
    this.db.run(
      INSERT_DELIVERY,
      facts.id,
      facts.project,
      facts.trigger,
      facts.source,
      facts.receivedAt,
      summary.outcome,
      storable(summary.reason),
      facts.status,
      facts.remote,
      facts.secretStore,
      facts.secretKey,
      summary.taskId,
      facts.bodyBytes,
      facts.durationMs,
      summary.detail,
      facts.via,
      kept?.headers ?? null,
      kept?.body ?? null,
      kept?.url ?? null,
      elsewhere?.contentOf ?? null,
    );
  }

  moveCursor({ name, at }: Cursor): void {
    this.db.run(MOVE_CURSOR, name, at);
  }

  checkResources(): void {} // the one daemon has read them as they are stored
}

function toInbox(row: Row): InboxFacts {
  return {
    messages: number(row, "messages"),
    bytes: number(row, "message_bytes"),
    readUpTo: number(row, "read_up_to"),
  };
}

/** Names its columns, because a migration adds new ones at the end of the table. */
const INSERT_DELIVERY =
  `INSERT INTO deliveries (${DELIVERY_COLUMNS}, headers, body, url, content_of)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const ROWS = new WeakMap<Database, SqliteDeliveryRows>();

/** The rows of a database, made once: each webhook asks for them. */
export function rowsOf(db: Database): SqliteDeliveryRows {
  const known = ROWS.get(db);
  if (known !== undefined) return known;
  const rows = new SqliteDeliveryRows(db);
  ROWS.set(db, rows);
  return rows;
}
