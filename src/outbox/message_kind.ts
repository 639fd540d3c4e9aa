/**
 * What a kind of message is to the sender. Each has its line in `messages.ts`.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { OwnUsers } from "../connections/own_users.ts";
import type { ClaimedMessage, NewMessage, OutboxMessage } from "../store/outbox_records.ts";
import type { Markers } from "./marker.ts";

/** A message as rooms hand it over; the outbox adds its id and its time. */
export type Draft = Omit<NewMessage, "id" | "now">;

/** What sending needs. */
export interface SendHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Base URL of Slack's Web API for bot tokens of triggers, without a slash at its end. */
  readonly slackApiUrl: string;
  /** Marks what is written, so that it is found again. */
  readonly markers: Markers;
  /** Who Connections write as. */
  readonly ownUsers: OwnUsers;
  /** Gives a call up when the daemon ends. */
  readonly signal: AbortSignal;
}

/** What came of one try. */
export type SendResult =
  | {
    readonly result: "sent";
    /** Id that the other system gave it; empty where it gives none. */
    readonly externalId: string;
  }
  | {
    /** Another try would end the same way. */
    readonly result: "refused";
    /** What was found and what to do, one sentence without a full stop. */
    readonly reason: string;
    /** Whether it may have arrived all the same; it did not when absent. */
    readonly mayHaveArrived?: boolean;
  }
  | {
    readonly result: "later";
    readonly reason: string;
    /** Pause that the other system asks for, in seconds. */
    readonly afterSecs?: number;
    /** Whether it may have arrived all the same. */
    readonly mayHaveArrived: boolean;
    /** Whether only this message waits, not those behind it; not when absent. */
    readonly alone?: true;
  };

/** What looking for a message gave that may have arrived. */
export type FindResult =
  | { readonly result: "found"; readonly externalId: string }
  | { readonly result: "absent" }
  | Exclude<SendResult, { readonly result: "sent" }>;

/** At most `most` messages of a lane within `perMs` milliseconds. */
export interface Rate {
  readonly most: number;
  readonly perMs: number;
}

/** One kind of message. */
export interface MessageKind {
  readonly name: string;
  /**
   * What a second time would do: nothing more (`harmless`); or another message, and then either
   * `find` can tell whether the first one arrived, or nobody can (`never`).
   */
  readonly again: "harmless" | "find" | "never";
  /**
   * Name of the Connection that a message goes through as things are now; empty for one that needs
   * none.
   *
   * @throws {AppError} `refused` where there is no way, with what to do; `not_found` where nobody
   * wants it sent any more; `conflict` where there is nothing that could be sent.
   */
  readonly way: (message: OutboxMessage, catalog: Catalog) => string;
  /** Limits of a lane that sends this kind; none when absent. */
  readonly rates?: readonly Rate[];
  /** Sends it once. */
  readonly send: (claimed: ClaimedMessage, host: SendHost) => Promise<SendResult>;
  /** Looks whether it has arrived; only where `again` is `find`. */
  readonly find?: (claimed: ClaimedMessage, host: SendHost) => Promise<FindResult>;
}
