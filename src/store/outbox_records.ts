/**
 * Records of the outbox: messages to other systems, from their order until they were sent, or given
 * up.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { ListQuery } from "./list_query.ts";

/** States of a message; `pending` also while it is being sent, `held` until a person sends it. */
export const MESSAGE_STATES = ["held", "pending", "sent", "failed", "dropped"] as const;
/** One of {@linkcode MESSAGE_STATES}. */
export type MessageState = typeof MESSAGE_STATES[number];

/** Long parts of a message, which are read in pieces and go with its end. */
export const CONTENT_NAMES = ["pack", "patch"] as const;
/** `pack`: the objects of git that are sent; `patch`: what a person reads of them. */
export type ContentName = typeof CONTENT_NAMES[number];

/** What a message counts against, in the transaction that stores it. */
export interface CountedOutput {
  /** Name of the output in `may`, such as `pull`. */
  readonly output: string;
  /** What counts once however often it is stored: a key; where empty, each message by itself. */
  readonly unit: string;
  /** Most different units in one task. */
  readonly max: number;
  /** Counts it also over all tasks, at one place. */
  readonly rounds?: {
    /** Such as `acme/site#42`. */
    readonly place: string;
    /** Most of them, one after the other, since a task that a person has started. */
    readonly most: number;
    /** Whether a person has started this task. */
    readonly byPerson: boolean;
  };
}

/** A limit that a message would have passed, so that nothing was stored. */
export interface LimitReached {
  readonly output: string;
  readonly by: "max" | "rounds";
  readonly most: number;
  /** The units that this task has stored, the oldest first. */
  readonly units: readonly string[];
}

/** A message to be stored. */
export interface NewMessage {
  /** Sorts by time. */
  readonly id: string;
  readonly project: string;
  /** Name of the Connection that it goes through; empty for a message that needs none. */
  readonly connection: string;
  /** Kind of message, such as `github-comment`. */
  readonly kind: string;
  /** Where it goes, in the form of its kind. */
  readonly target: JsonObject;
  /**
   * Names it among the messages to its target: one that has not been tried yet is replaced by the
   * next one of its key, and one that was sent is updated by it. Empty for a message by itself.
   */
  readonly key: string;
  /** What it says, in the form of its kind. */
  readonly body: JsonObject;
  /** Task that it is about; empty for none. */
  readonly taskId: string;
  /** Why it waits for a person; absent for one that is sent at once. */
  readonly held?: string;
  readonly counted?: CountedOutput;
  /** Long parts of it, each in pieces of at most 1 MiB. They are handed over: the caller has them no more. */
  readonly content?: { readonly [Name in ContentName]?: readonly Uint8Array<ArrayBuffer>[] };
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A message of the outbox. */
export interface OutboxMessage extends Omit<NewMessage, "now" | "held" | "counted" | "content"> {
  readonly state: MessageState;
  /** How often it was tried. */
  readonly tries: number;
  /**
   * Milliseconds since the epoch before which it is not tried again; 0 for at once. Of a held one, when
   * people are told that it waits, and then when it is dropped.
   */
  readonly nextAt: number;
  /**
   * Milliseconds since the epoch of a try without a stored answer: the message may have arrived.
   * Absent if it is known whether it has.
   */
  readonly uncertainSince?: number;
  /** Milliseconds since the epoch of the first try of this round; absent before it. */
  readonly firstTriedAt?: number;
  /** Id that the other system gave to what was sent; empty before, or where it gives none. */
  readonly externalId: string;
  /** Why it failed, waits or was dropped; empty when there is nothing to say. */
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;
}

/** Most messages of a task that are looked through, the newest first. */
export const MESSAGES_OF_TASK = 1000;

/** Which messages to claim. */
export interface MessageDemand {
  /** Most messages to claim. */
  readonly limit: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Lanes from which nothing is claimed: something of theirs is under way, or they pause. */
  readonly busy: readonly string[];
}

/** A message to be sent now. */
export interface ClaimedMessage {
  /** As it was before the claim, but for `tries` and `firstTriedAt`. */
  readonly message: OutboxMessage;
  /** What is sent one after the other: a Connection, or one destination. */
  readonly lane: string;
  /** Id of what was sent before with its key, which it updates; empty for none. */
  readonly previousId: string;
  /**
   * Milliseconds since the epoch since when it, or one before it with its key, may have arrived
   * unnoticed; absent where that cannot be.
   */
  readonly uncertainSince?: number;
}

/** Messages to be sent now, at most one of each lane, and when to claim again. */
export interface MessageClaim {
  readonly messages: readonly ClaimedMessage[];
  /** When the next message is due, in milliseconds since the epoch; absent when none waits. */
  readonly nextAt?: number;
}

/** The result of a try. */
export type MessageResult =
  | { readonly state: "sent"; readonly externalId: string }
  | { readonly state: "failed" | "dropped"; readonly reason: string; readonly certain: boolean }
  | {
    readonly state: "pending";
    readonly reason: string;
    /** Milliseconds since the epoch of the next try. */
    readonly nextAt: number;
    /** Whether it is known that it did not arrive. */
    readonly certain: boolean;
  };

/** Filter of a list of messages. */
export interface MessageQuery extends ListQuery {
  readonly state?: MessageState;
  /** Only those about this task. */
  readonly taskId?: string;
}

/** Number of messages that wait, that are held and that were given up. */
export interface OutboxCounts {
  readonly pending: number;
  readonly failed: number;
  readonly held: number;
  /** Milliseconds since the epoch when the oldest pending one came; absent when none is pending. */
  readonly oldestPendingAt?: number;
}
