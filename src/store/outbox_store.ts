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

/** Messages, as an operator reads and changes them. */
export interface OutboxStore {
  /** Newest first. */
  listMessages(query: MessageQuery): Promise<OutboxMessage[]>;
  /** Messages whose id starts with `prefix`, at most two. */
  findMessages(prefix: string): Promise<OutboxMessage[]>;
  /**
   * Makes a message due now that was not sent; `undefined` when it was, or no longer exists.
   * `forget` sends it also where it may have arrived before; `through` is the message with the
   * Connection that it goes through from now on, where that is another one.
   */
  retryMessage(
    id: string,
    how: {
      readonly now: number;
      readonly forget: boolean;
      readonly through?: Pick<NewMessage, "project" | "connection" | "kind" | "target">;
    },
  ): Promise<OutboxMessage | undefined>;
  /** Drops a message that was not sent; `undefined` when it was, or no longer exists. */
  dropMessage(
    id: string,
    end: { readonly reason: string; readonly now: number },
  ): Promise<OutboxMessage | undefined>;
  outboxCounts(): Promise<OutboxCounts>;
}
