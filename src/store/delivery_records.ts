/**
 * Deliveries as storage keeps them: what arrived, and what became of it.
 *
 * @module
 */

import type { ListQuery } from "./list_query.ts";
import type { NewTask } from "./task_records.ts";

/** What can become of an inbound request. */
export const DELIVERY_OUTCOMES = [
  "accepted",
  "filtered",
  "duplicate",
  "skipped",
  "handshake",
  "rejected",
] as const;
/** What became of one inbound request. */
export type DeliveryOutcome = typeof DELIVERY_OUTCOMES[number];

/** What deliveries can be listed by: their outcome, or that a task they started failed. */
export const DELIVERY_FILTERS = [...DELIVERY_OUTCOMES, "failed"] as const;

/**
 * How an event came in: with a request to a webhook, with a request to the endpoint of a chat
 * platform, where it is routed by itself, or with no request at all (a time, a file, the end of a
 * task, an operator).
 */
export type DeliveryVia = "http" | "chat" | "internal";

/** What became of one event of a delivery; most deliveries have one. */
export interface EventOutcome {
  /** What was decided. */
  readonly outcome: "accepted" | "filtered" | "duplicate" | "skipped";
  /** Why, for the operator; empty when there is nothing to say. */
  readonly reason: string;
  /** Task it started, or of which it is a duplicate. */
  readonly taskId?: string;
  /** Delivery of which it is a duplicate. */
  readonly duplicateOf?: string;
  /** Running tasks that have to end for it (`concurrency: Replace`). */
  readonly replaces?: readonly string[];
}

/** What may become of an event, best first; a request is told the best that came of its events. */
const BEST_FIRST = ["accepted", "duplicate", "skipped", "filtered"] as const;

/**
 * Of several events the first among those that came to the best; `undefined` where there is none.
 */
export function bestOf<Event extends Pick<EventOutcome, "outcome">>(
  events: readonly Event[],
): Event | undefined {
  for (const outcome of BEST_FIRST) {
    const best = events.find((one) => one.outcome === outcome);
    if (best !== undefined) return best;
  }
  return undefined;
}

/** The tasks that events started; events that joined one task share it. */
export function startedTasks(events: readonly EventOutcome[]): readonly string[] {
  const started = events.flatMap(({ outcome, taskId }) =>
    outcome === "accepted" && taskId !== undefined ? [taskId] : []
  );
  return [...new Set(started)];
}

/** How many events came to each, best first, such as `1 accepted, 2 filtered`. */
export function countsText(events: readonly Pick<EventOutcome, "outcome">[]): string {
  return BEST_FIRST.map((outcome) => ({
    outcome,
    count: events.filter((one) => one.outcome === outcome).length,
  })).filter(({ count }) => count > 0)
    .map(({ outcome, count }) => `${count} ${outcome}`).join(", ");
}

/** What else is worth knowing of a delivery, for `svc delivery explain`. */
export interface DeliveryDetail {
  /** Names of the headers that came, in lower case. */
  readonly headerNames: readonly string[];
  /** Milliseconds after arrival at which each stage was done, in order. */
  readonly stages: Readonly<Record<string, number>>;
  /** Condition that was evaluated. */
  readonly condition?: string;
  /** Each event, where there are several. */
  readonly events?: readonly EventOutcome[];
  /** Delivery that was sent again. */
  readonly redeliveryOf?: string;
  /**
   * Whether its trigger lets everybody in (`allowUnsigned`), so that nothing checked the sender.
   */
  readonly unsigned?: boolean;
}

/** One inbound request and what became of it. */
export interface Delivery {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Project of the trigger. */
  readonly project: string;
  /** Name of the trigger. */
  readonly trigger: string;
  /**
   * Name of the source it came through: `webhook`, `cron` and so on, or that of a chat platform.
   */
  readonly source: string;
  /** How it came in. */
  readonly via: DeliveryVia;
  /** Milliseconds since the epoch when its headers had arrived. */
  readonly receivedAt: number;
  /** What became of it. */
  readonly outcome: DeliveryOutcome;
  /** Why, for the operator; empty when there is nothing to say. */
  readonly reason: string;
  /** Status the sender got; 0 where no request brought it. */
  readonly status: number;
  /** Address of the peer, without its port. */
  readonly remote: string;
  /** Which key of the SecretStore matched; empty where none did. */
  readonly secretKey: string;
  /** SecretStore whose key matched; empty where none did. */
  readonly secretStore: string;
  /** Task it started; empty where it started none. */
  readonly taskId: string;
  /** Size of the body in bytes. */
  readonly bodyBytes: number;
  /** Milliseconds from arrival to the decision. */
  readonly durationMs: number;
  /** What else is worth knowing. */
  readonly detail: DeliveryDetail;
}

/** What is kept of an authenticated request. */
export interface DeliveryContent {
  /** Headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The exact bytes that arrived. */
  readonly body: Uint8Array;
  /** URL as it arrived, query included; empty where no request brought it, or it was not kept. */
  readonly url: string;
}

/** What the event itself and its trigger decide, before what is stored is looked at. */
export type EventDecision =
  | { readonly outcome: "accepted"; readonly task: NewTask; readonly note?: string }
  | { readonly outcome: "filtered" | "skipped"; readonly reason: string };

/** Exists for the compiler only. */
declare const admittedBrand: unique symbol;

/** A decision that `admit` made: the store takes no other, so no task starts past a filter. */
export type Admitted = EventDecision & { readonly [admittedBrand]: true };

/** A delivery with everything that belongs in the same transaction. */
export interface NewDelivery {
  /** The record; outcome, reason and task are those of the events. */
  readonly delivery: Omit<Delivery, "outcome" | "reason" | "taskId">;
  /** What arrived. */
  readonly content: DeliveryContent;
  /** Its events, at least one. */
  readonly events: readonly Admitted[];
  /** How long a key makes later events duplicates, in milliseconds. */
  readonly dedupWindowMs: number;
  /** Whether its id names the event itself: one that is stored already changes nothing. */
  readonly once?: boolean;
  /** Up to where its schedule has been looked at. */
  readonly cursor?: Cursor;
}

/** Up to where a schedule has been looked at. */
export interface Cursor {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A delivery as it was stored. */
export interface StoredDelivery {
  readonly delivery: Delivery;
  /** What arrived; absent of a rejected one that was not to be kept. */
  readonly content?: DeliveryContent;
}

/** A refused request, with what arrived where its trigger asks for that. */
export type Rejection = StoredDelivery;

/** How many refused requests are kept of each trigger. */
export interface RejectionLimits {
  /** Records. */
  readonly records: number;
  /** Of these, with headers and body. */
  readonly contents: number;
}

/** Uses of one key of a SecretStore by one trigger. */
export interface KeyUse {
  /** Project of store and trigger. */
  readonly project: string;
  /** SecretStore. */
  readonly store: string;
  /** Key in it. */
  readonly key: string;
  /** Trigger whose delivery it matched. */
  readonly trigger: string;
  readonly count: number;
  /** Milliseconds since the epoch of the last time. */
  readonly lastAt: number;
}

/** Which deliveries a list is to hold. */
export interface DeliveryQuery extends ListQuery {
  /** Only with this outcome; `failed` means that a task it started failed. */
  readonly outcome?: typeof DELIVERY_FILTERS[number];
  /** Only with an id below this one, to read on. */
  readonly before?: string;
}
