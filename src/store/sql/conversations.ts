/**
 * The table `conversations`, in both databases: which task a conversation goes on with.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { Conversation, ConversationQuery, NewBinding } from "../conversation_store.ts";
import { type ConversationTask, whyNotBound } from "../rules/conversation.ts";
import { conversationDigest } from "../rules/keys.ts";
import { isUnfinished, type TaskState } from "../task_records.ts";
import type { InboxFacts } from "../transactions/task_rows.ts";
import { number, optionalNumber, storable, text } from "./columns.ts";
import { idRange, ordered, prefixEnd, where } from "./queries.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

/** A message of a chat, which is routed again rather than handed over. */
export const OF_CHAT = `message LIKE '{"source_event_id":%'`;

/** The task of a conversation as the rules see it. */
export function toConversationTask(
  { taskId, state, cancelReason, hasEnd, inbox: { messages, bytes, readUpTo } }: {
    readonly taskId: string;
    readonly state: TaskState;
    /** Why it is to be stopped; absent if it is not. */
    readonly cancelReason?: string;
    /** Whether its end is stored and not handled yet. */
    readonly hasEnd: boolean;
    readonly inbox: InboxFacts;
  },
): ConversationTask {
  const isOpen = isUnfinished(state) && cancelReason === undefined;
  const isEnding = !isUnfinished(state) && hasEnd && messages > readUpTo && state !== "cancelled";
  return { taskId, isOpen, isEnding, messages, bytes };
}

/** The inbox of a task to which the unread messages of another go over: that it has at most so many. */
export function inboxAfter({ messages, bytes, readUpTo }: InboxFacts, except: number): InboxFacts {
  const isThere = except >= readUpTo && except < messages;
  return { messages: messages - readUpTo - Number(isThere), bytes, readUpTo: 0 };
}

/** Sets what a task knows of its inbox to what is there. */
export const COUNT_INBOX = `UPDATE tasks SET
    messages = (SELECT coalesce(max(position) + 1, 0) FROM inbox WHERE task_id = tasks.id),
    message_bytes = (SELECT coalesce(sum(octet_length(message)), 0) FROM inbox
      WHERE task_id = tasks.id)`;

/** A conversation as a text: its name and its key. */
export const textOfConversation = (
  { name, key }: { readonly name: string; readonly key: string },
) => `${name}/${key}`;

/** Lets the conversations of a task go on with its retry, unless they go on with another by now. */
export async function goOnWithRetry(
  db: SqlSession,
  retry: { readonly id: string; readonly of: string; readonly now: number },
): Promise<void> {
  await db.run(
    "UPDATE conversations SET task_id = ?, updated_at = ? WHERE task_id = ?",
    retry.id,
    retry.now,
    retry.of,
  );
}

const SELECT = `SELECT id, project, name, key, task_id, created_at, updated_at,
    (SELECT state FROM tasks WHERE tasks.id = task_id) AS state,
    (SELECT messages - read_up_to FROM tasks WHERE tasks.id = task_id) AS unread,
    (SELECT inbox.created_at FROM inbox WHERE inbox.task_id = conversations.task_id
      ORDER BY position DESC LIMIT 1) AS last_message_at
  FROM conversations`;

/** Conversations, in the order of the list. */
export async function listConversations(
  db: SqlSession,
  { project, since, until, limit, ...places }: ConversationQuery,
): Promise<Conversation[]> {
  const { clause, values } = where({
    "project = ?": project,
    "updated_at >= ?": since,
    "updated_at <= ?": until,
    ...idRange(places),
  });
  const order = ordered(places);
  const rows = await db.all(
    `${SELECT}${clause && ` ${clause}`} ${order} LIMIT ?`,
    ...values,
    limit,
  );
  return rows.map(toConversation);
}

/** Conversations whose id starts with `prefix`, at most two. */
export async function findConversations(db: SqlSession, prefix: string): Promise<Conversation[]> {
  const rows = await db.all(
    `${SELECT} WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`,
    prefix,
    prefixEnd(prefix),
  );
  return rows.map(toConversation);
}

function toConversation(row: Row): Conversation {
  return {
    id: text(row, "id"),
    project: text(row, "project"),
    name: text(row, "name"),
    key: text(row, "key"),
    taskId: text(row, "task_id"),
    taskState: text(row, "state") as TaskState,
    unread: number(row, "unread"),
    ...optionalNumber(row, "last_message_at", "lastMessageAt"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}

/** Lets a conversation go on with a task; what the task before has not read stays with that one. */
export async function bindConversation(
  db: SqlSession,
  { id, project, name, key, taskId, now }: NewBinding,
): Promise<{ id: string; before?: string }> {
  const digest = conversationDigest(project, { name, key });
  await db.lock(`conversation/${digest.toHex()}`);
  const task = await db.get(
    `SELECT state, cancel_reason, conversation FROM tasks WHERE id = ? ${db.dialect.forUpdate}`,
    taskId,
  );
  if (task === undefined) throw new AppError("not_found", `No task "${taskId}"`);
  const conversation = storable(textOfConversation({ name, key }));
  const refused = whyNotBound(conversation, {
    id: taskId,
    state: text(task, "state") as TaskState,
    isStopping: task["cancel_reason"] !== null,
    ...task["conversation"] === null ? {} : { conversation: text(task, "conversation") },
  });
  if (refused !== undefined) throw new AppError("conflict", refused);
  const before = await db.get("SELECT id, task_id FROM conversations WHERE digest = ?", digest);
  await db.run(
    `INSERT INTO conversations (digest, id, project, name, key, task_id, created_at, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
     ON CONFLICT (digest) DO UPDATE SET task_id = ?6, updated_at = ?7`,
    digest,
    id,
    project,
    name,
    storable(key),
    taskId,
    now,
  );
  await db.run("UPDATE tasks SET conversation = ? WHERE id = ?", conversation, taskId);
  return before === undefined
    ? { id }
    : { id: text(before, "id"), before: text(before, "task_id") };
}
