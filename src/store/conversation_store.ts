/**
 * The storage interface for conversations, and their records: which task the events of a key go on with.
 *
 * @module
 */

import type { ListQuery } from "./list_query.ts";
import type { TaskState } from "./task_records.ts";

/** One conversation, with the state of its task. */
export interface Conversation {
  /** Sorts by the time when it began. */
  readonly id: string;
  readonly project: string;
  /** Shared by triggers of the project. */
  readonly name: string;
  readonly key: string;
  /** The task that it goes on with: its messages go there, or that task has ended and they start another. */
  readonly taskId: string;
  readonly taskState: TaskState;
  /** How many messages to that task no step has read. */
  readonly unread: number;
  /** When that task got its last message, in milliseconds since the epoch; absent if it got none. */
  readonly lastMessageAt?: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** When it last began to go on with another task, in milliseconds since the epoch. */
  readonly updatedAt: number;
}

/** Filter of a list of conversations; `since` and `until` are about the time of their last change. */
export type ConversationQuery = Omit<ListQuery, "trigger">;

/** A conversation that is to go on with a task. */
export interface NewBinding {
  /** The id of the conversation if it is new. */
  readonly id: string;
  /** That of the task. */
  readonly project: string;
  readonly name: string;
  readonly key: string;
  readonly taskId: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The conversations of a data directory. */
export interface ConversationStore {
  /** Newest first. */
  listConversations(query: ConversationQuery): Promise<Conversation[]>;
  /** Conversations whose id starts with `prefix`, at most two. */
  findConversations(prefix: string): Promise<Conversation[]>;
  /**
   * Lets a conversation go on with a task that has not ended; gives its id, and the task that it went on
   * with before, if it had one.
   *
   * @throws {AppError} `not_found`; `conflict` if the task has ended, is to be stopped, or belongs to another
   * conversation.
   */
  bindConversation(
    binding: NewBinding,
  ): Promise<{ readonly id: string; readonly before?: string }>;
}
