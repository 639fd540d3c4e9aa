/**
 * The interface of a kind of messages. `messages.ts` lists all kinds.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { ForgeTokens } from "../connections/forge_tokens.ts";
import type { OwnUsers } from "../connections/own_users.ts";
import type {
  ClaimedMessage,
  ContentName,
  NewMessage,
  OutboxMessage,
} from "../store/outbox_records.ts";
import type { Markers } from "./marker.ts";

/** A message before the outbox has given it an id and a time. */
export type Draft = Omit<NewMessage, "id" | "now">;

/** Most characters of a text that are stored: more than svc sends to any forge. */
export const MAX_STORED = 256 * 1024;

/** The state of the daemon that a kind uses to send a message. */
export interface SendHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Base URL of Slack's Web API for bot tokens of triggers, without a slash at its end. */
  readonly slackApiUrl: string;
  /** Marks a comment, so that it can be found again. */
  readonly markers: Markers;
  /** The users as which Connections write. */
  readonly ownUsers: OwnUsers;
  /** The tokens of Connections to forges. */
  readonly forgeTokens: ForgeTokens;
  /** A long part of a message, in its pieces. */
  readonly readContent: (id: string, name: ContentName) => AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** Ends calls when the daemon ends. */
  readonly signal: AbortSignal;
}

/** The result of one try. */
export type SendResult =
  | Counted & {
    readonly result: "sent";
    /** Id that the other system gave it; empty if it gives none. */
    readonly externalId: string;
  }
  | Counted & {
    /** Nothing is to be sent any more. */
    readonly result: "dropped";
    readonly reason: string;
  }
  | NotSent;

/** How much of the rates of its lane a try has used. */
interface Counted {
  /** Number of requests that count; 1 if absent. */
  readonly writes?: number;
}

/** The result of a try that did not send the message. */
export type NotSent =
  | Counted & {
    /** Another try would end the same way. */
    readonly result: "refused";
    /** The finding and its remedy, one sentence without a full stop. */
    readonly reason: string;
    /** Whether it may have arrived nevertheless; it did not if absent. */
    readonly mayHaveArrived?: boolean;
  }
  | Counted & {
    readonly result: "later";
    readonly reason: string;
    /** Pause that the other system asks for, in seconds. */
    readonly afterSecs?: number;
    /** Whether it may have arrived nevertheless. */
    readonly mayHaveArrived: boolean;
    /** Whether the messages behind this one in its lane need not wait for it. */
    readonly alone?: true;
  };

/** The result of a search for a message that may have arrived. */
export type FindResult =
  | Counted & { readonly result: "found"; readonly externalId: string }
  | Counted & { readonly result: "absent" }
  | NotSent;

/** The result of a post to a chat that did not succeed. */
export function notPosted(
  { reason, isTemporary, afterSecs, mayHaveArrived }: {
    readonly reason: string;
    readonly isTemporary: boolean;
    readonly afterSecs?: number;
    readonly mayHaveArrived: boolean;
  },
): NotSent {
  if (!isTemporary) return { result: "refused", reason };
  return { result: "later", reason, mayHaveArrived, ...defined({ afterSecs }) };
}

/**
 * The result of a try that threw before the other system was reached.
 *
 * @throws an error that is no {@linkcode AppError}.
 */
export function resultOfError(error: unknown): NotSent {
  if (!(error instanceof AppError)) throw error;
  const { code, message: reason, retryAfterSecs } = error;
  return code === "overloaded"
    ? { result: "later", reason, mayHaveArrived: false, ...defined({ afterSecs: retryAfterSecs }) }
    : { result: "refused", reason };
}

/** At most `most` messages of a lane within `perMs` milliseconds. */
export interface Rate {
  readonly most: number;
  readonly perMs: number;
}

/** One kind of message. */
export interface MessageKind {
  readonly name: string;
  /**
   * The effect of sending it a second time: none (`harmless`), or another message. Whether the first
   * one arrived can then be found out by `find` (`find`), or not (`never`).
   */
  readonly again: "harmless" | "find" | "never";
  /**
   * Whether a message may be something new although an earlier one of its key was sent, because that
   * one is closed or of another commit: what may have arrived is then searched for all the same.
   */
  readonly isReplaced?: true;
  /**
   * Name of the Connection through which a message goes at present; empty if it needs none.
   *
   * @throws {AppError} `refused` if there is no way, with what to do; `not_found` if its Notification
   * no longer has the target; `conflict` if the message has nothing to send.
   */
  readonly way: (message: OutboxMessage, catalog: Catalog) => string;
  /** Whether a message cannot be sent without its pack, which is deleted when it is over. */
  readonly needsPack?: (message: Pick<OutboxMessage, "body">) => boolean;
  /** Limits of a lane that sends this kind; none if absent. */
  readonly rates?: readonly Rate[];
  /** Sends a message once. */
  readonly send: (claimed: ClaimedMessage, host: SendHost) => Promise<SendResult>;
  /** Searches for a message that may have arrived; present if `again` is `find`. */
  readonly find?: (claimed: ClaimedMessage, host: SendHost) => Promise<FindResult>;
}
