/**
 * The table `conversations`, in both databases: which task a conversation goes on with.
 *
 * @module
 */

import type { ConversationTask } from "../rules/conversation.ts";
import { isUnfinished, type TaskState } from "../task_records.ts";
import type { InboxFacts } from "../transactions/task_rows.ts";
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
