/**
 * The storage interfaces of the outbox.
 *
 * @module
 */

import type {
  ContentName,
  LimitReached,
  MessageClaim,
  MessageDemand,
  MessageQuery,
  MessageResult,
  NewMessage,
  OutboxCounts,
  OutboxMessage,
} from "./outbox_records.ts";

/** What {@linkcode OutboxStore.expireHeld} has done. */
export interface ExpiredHeld {
  /** Messages that are dropped a day from now, unless they are sent or dropped by hand. */
  readonly warned: readonly OutboxMessage[];
  readonly dropped: readonly OutboxMessage[];
}

/** Stores messages. */
export interface OutboxRecorder {
  /**
   * Stores messages, all or none; see {@linkcode NewMessage.key} for those that one replaces. Stores
   * none of them where one would pass a limit, and returns that limit.
   */
  addToOutbox(messages: readonly NewMessage[]): Promise<LimitReached | undefined>;
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
  /** Makes an unsent message due now; `undefined` when it was sent, is held, or no longer exists. */
  retryMessage(id: string, how: MessageRetry): Promise<OutboxMessage | undefined>;
  /** Drops a message that was not sent; `undefined` when it was, or no longer exists. */
  dropMessage(
    id: string,
    end: { readonly reason: string; readonly now: number },
  ): Promise<OutboxMessage | undefined>;
  /** Has a held message sent; `undefined` when it is not held, or no longer exists. */
  releaseMessage(id: string, now: number): Promise<OutboxMessage | undefined>;
  /**
   * Drops messages that have been held for seven days, for this reason, at most `limit`. Returns them,
   * and those of which people are to be told a day before: each of them once, to one daemon.
   */
  expireHeld(
    options: { readonly now: number; readonly reason: string; readonly limit: number },
  ): Promise<ExpiredHeld>;
  /** One piece of a long part of a message, counted from 0; `undefined` past its end, and once it is gone. */
  readContent(
    id: string,
    name: ContentName,
    piece: number,
  ): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** What a task has stored so far, by the name of the output: its units, the oldest first. */
  listOutputs(taskId: string): Promise<ReadonlyMap<string, readonly string[]>>;
  outboxCounts(): Promise<OutboxCounts>;
}
