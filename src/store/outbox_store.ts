/**
 * The storage interfaces of the outbox.
 *
 * @module
 */

import type {
  MessageClaim,
  MessageDemand,
  MessageQuery,
  MessageResult,
  NewMessage,
  OutboxCounts,
  OutboxMessage,
} from "./outbox_records.ts";

/** Stores messages. */
export interface OutboxRecorder {
  /** Stores messages, all or none; see {@linkcode NewMessage.key} for those that one replaces. */
  addToOutbox(messages: readonly NewMessage[]): Promise<void>;
}

/** Messages, as the sender takes and ends them. */
export interface OutboxQueue {
  /**
   * Claims the messages that are due, the first of each lane and none behind an earlier one of its
   * target: counts the try, and notes that from now on they may have arrived.
   */
  claimMessages(demand: MessageDemand): Promise<MessageClaim>;
  /** Records the result of a try; `undefined` when the message no longer exists. */
  finishMessage(id: string, result: MessageResult, now: number): Promise<OutboxMessage | undefined>;
}

/** How a message is sent again. */
export interface MessageRetry {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether it is also sent if it may have arrived before. */
  readonly forget: boolean;
  /** The message with the Connection that it goes through from now on; absent for the same one. */
  readonly through?: Pick<NewMessage, "project" | "connection" | "kind" | "target">;
}

/** Messages, as an operator reads and changes them. */
export interface OutboxStore {
  /** Newest first. */
  listMessages(query: MessageQuery): Promise<OutboxMessage[]>;
  /** Messages whose id starts with `prefix`, at most two. */
  findMessages(prefix: string): Promise<OutboxMessage[]>;
  /** Makes an unsent message due now; `undefined` when it was sent, or no longer exists. */
  retryMessage(id: string, how: MessageRetry): Promise<OutboxMessage | undefined>;
  /** Drops a message that was not sent; `undefined` when it was, or no longer exists. */
  dropMessage(
    id: string,
    end: { readonly reason: string; readonly now: number },
  ): Promise<OutboxMessage | undefined>;
  outboxCounts(): Promise<OutboxCounts>;
}
