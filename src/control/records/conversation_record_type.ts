/**
 * Conversations as a type of record.
 *
 * @module
 */

import type { ConversationRecord } from "../../api/records.ts";
import { rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import type { Column } from "../../resources/kind.ts";
import type { Conversation, ConversationStore } from "../../store/conversation_store.ts";
import type { RecordType } from "./record_type.ts";
import { projectColumn } from "./views.ts";

/** Conversations, for `svc get`. */
export const CONVERSATIONS: RecordType<
  Conversation,
  "conversation",
  Pick<ConversationStore, "listConversations" | "findConversations">
> = {
  name: "conversation",
  list: (store, query) => store.listConversations(query),
  find: (store, prefix) => store.findConversations(prefix),
  id: ({ id }) => id,
  view: conversationView,
  columns: conversationColumns,
  filters: ["before", "after", "until"],
  shows: "task",
};

function conversationView(one: Conversation): ConversationRecord {
  return {
    id: one.id,
    project: one.project,
    name: one.name,
    key: one.key,
    task_id: one.taskId,
    task_state: one.taskState,
    unread: one.unread,
    last_message_at: one.lastMessageAt === undefined ? null : rfc3339(one.lastMessageAt),
    created_at: rfc3339(one.createdAt),
    updated_at: rfc3339(one.updatedAt),
  };
}

function conversationColumns(now: number): Column<Conversation>[] {
  const ago = (at: number | undefined) => at === undefined ? "" : shortDuration(now - at);
  return [
    { header: "NAME", fit: "name", cell: ({ name }) => name },
    { header: "KEY", fit: "text", cell: ({ key }) => key },
    { header: "TASK", fit: "id", cell: ({ taskId }) => taskId },
    { header: "STATE", cell: ({ taskState }) => taskState },
    { header: "UNREAD", cell: ({ unread }) => String(unread) },
    { header: "LAST", cell: ({ lastMessageAt }) => ago(lastMessageAt) },
    projectColumn(({ project }) => project),
    { header: "ID", fit: "id", wide: true, cell: ({ id }) => id },
    { header: "AGE", wide: true, cell: ({ createdAt }) => ago(createdAt) },
  ];
}
