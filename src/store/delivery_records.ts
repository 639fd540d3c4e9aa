/**
 * Records of deliveries: what arrived, and its outcome.
 *
 * @module
 */

import type { AskedBy } from "../base/asked_by.ts";
import type { DedupTimes } from "../resources/dedup_times.ts";
import type { Coverage } from "../signatures/coverage.ts";
import type { VerifyFailure } from "../signatures/scheme.ts";
import type { ListQuery } from "./list_query.ts";
import type { DecidedByResources } from "./stale_resources.ts";
import type { NewTask } from "./task_records.ts";

/** Every outcome of an inbound request. */
export const DELIVERY_OUTCOMES = [
  "accepted",
  "filtered",
  "duplicate",
  "skipped",
  "handshake",
  "rejected",
] as const;
/** Outcome of one inbound request. */
export type DeliveryOutcome = typeof DELIVERY_OUTCOMES[number];

/**
 * Values by which deliveries can be listed: an outcome, or `failed` where a task they started
 * failed.
 */
export const DELIVERY_FILTERS = [...DELIVERY_OUTCOMES, "failed"] as const;

/**
 * How an event came in: with a request to a webhook (`http`), with a request to the endpoint of a
 * chat platform (`chat`), or without a request, from a schedule, a file, the end of a task or an
 * operator (`internal`).
 */
export type DeliveryVia = "http" | "chat" | "internal";

/** Outcome of one event of a delivery; most deliveries have one event. */
export interface EventOutcome {
  readonly outcome: "accepted" | "filtered" | "duplicate" | "skipped";
  /** Reason for the operator; empty when there is nothing to say. */
  readonly reason: string;
  /** Task that the event started, or that it duplicates. */
  readonly taskId?: string;
  /** Delivery that the event duplicates. */
  readonly duplicateOf?: string;
  /** Running tasks that have to end for it (`concurrency: Replace`). */
  readonly replaces?: readonly string[];
  /** Why no wait ends by it, if it was skipped for that. */
  readonly why?: Unwaited;
  /** Whether the task did not start with it, but got it as a message of its conversation. */
  readonly isMessage?: true;
}

/** Why a skipped event ends no wait: svc itself has caused it, or it could not be decided. */
export type Unwaited = "own" | "undecided";

/** Outcomes of an event, best first; a request is answered with the best outcome of its events. */
const BEST_FIRST = ["accepted", "duplicate", "skipped", "filtered"] as const;

/** The first of the events with the best outcome; `undefined` for an empty list. */
export function bestOf<Event extends Pick<EventOutcome, "outcome">>(
  events: readonly Event[],
): Event | undefined {
  for (const outcome of BEST_FIRST) {
    const best = events.find((one) => one.outcome === outcome);
    if (best !== undefined) return best;
  }
  return undefined;
}

/** Ids of the tasks that events started; events that joined one task share it. */
export function startedTasks(events: readonly EventOutcome[]): readonly string[] {
  const started = events.flatMap(({ outcome, taskId }) =>
    outcome === "accepted" && taskId !== undefined ? [taskId] : []
  );
  return [...new Set(started)];
}

/** Number of events by outcome, best first, such as `1 accepted, 2 filtered`. */
export function countsText(events: readonly Pick<EventOutcome, "outcome">[]): string {
  return BEST_FIRST.map((outcome) => ({
    outcome,
    count: events.filter((one) => one.outcome === outcome).length,
  })).filter(({ count }) => count > 0)
    .map(({ outcome, count }) => `${count} ${outcome}`).join(", ");
}

/** Further facts of a delivery, for `svc delivery explain`. */
export interface DeliveryDetail {
  /** Names of the request's headers, in lower case; of a refused request as many as fit. */
  readonly headerNames: readonly string[];
  /** How many further headers it had; absent where there were none. */
  readonly headersLeftOff?: number;
  /** The event that a header names; absent if none does, and in records of earlier versions. */
  readonly event?: string;
  /** Milliseconds after arrival at which each stage of the pipeline was done, in order. */
  readonly stages: Readonly<Record<string, number>>;
  /** Filter of the trigger that was evaluated. */
  readonly condition?: string;
  /** Outcome of each event, where there are several. */
  readonly events?: readonly EventOutcome[];
  /** Why no wait ends by its only event, if that was skipped for it. */
  readonly why?: Unwaited;
  /** Whether its only event started no task, but is a message to the one that the delivery names. */
  readonly isMessage?: true;
  /** Delivery that was redelivered. */
  readonly redeliveryOf?: string;
  /**
   * The ended task that had the event as a message which no step read: svc itself took it up again, so it is
   * no new event. Who had the first delivery fired or redelivered stands in `by`.
   */
  readonly follows?: string;
  /**
   * Who had svc fire it, sign and send it, or redeliver it; absent for any other delivery, and in records
   * of earlier versions.
   */
  readonly by?: AskedBy;
  /**
   * Whether the trigger accepts unsigned requests (`allowUnsigned`), so that nothing checked the
   * sender.
   */
  readonly unsigned?: boolean;
  /** Why its signature was refused; absent otherwise, and in records of earlier versions. */
  readonly failure?: VerifyFailure;
  /** Connection over which the platform delivered it, so that no signature was needed. */
  readonly connection?: string;
  /**
   * The values that its signature covers, if its trigger or its workflow reads `signed`; absent if
   * no signature was verified, or neither of them reads it.
   */
  readonly signed?: Coverage;
  /** Method of an unsigned handshake. */
  readonly handshakeMethod?: string;
  /** When retention deleted its body, in milliseconds since the epoch. */
  readonly bodyDeletedAt?: number;
}

/** One inbound request or fired event, without what follows from its events. */
export interface DeliveryFacts {
  /** Sorts by time. */
  readonly id: string;
  readonly project: string;
  readonly trigger: string;
  /** Name of the source: `webhook`, `cron` and so on, or that of a chat platform. */
  readonly source: string;
  readonly via: DeliveryVia;
  /** Milliseconds since the epoch when the headers had arrived. */
  readonly receivedAt: number;
  /** HTTP status of the answer; 0 where no request brought it. */
  readonly status: number;
  /** Address of the peer, without its port. */
  readonly remote: string;
  /** Key of the SecretStore that matched; empty where none did. */
  readonly secretKey: string;
  /** SecretStore whose key matched; empty where none did. */
  readonly secretStore: string;
  readonly bodyBytes: number;
  /** Milliseconds from arrival to the decision. */
  readonly durationMs: number;
  readonly detail: DeliveryDetail;
}

/** One inbound request or fired event, and its outcome. */
export interface Delivery extends DeliveryFacts {
  readonly outcome: DeliveryOutcome;
  /** Reason for the operator; empty when there is nothing to say. */
  readonly reason: string;
  /** Task that the delivery started; empty where it started none. */
  readonly taskId: string;
}

/** Headers, body and URL of an authenticated request. */
export interface DeliveryContent {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The exact bytes that arrived. */
  readonly body: Uint8Array;
  /** URL as it arrived, query included; empty where no request brought it, or it was not kept. */
  readonly url: string;
}

/**
 * The decision that follows from the event and its trigger alone, before stored facts are
 * consulted.
 */
export type EventDecision =
  | { readonly outcome: "accepted"; readonly task: NewTask; readonly note?: string }
  | {
    readonly outcome: "filtered" | "skipped";
    readonly reason: string;
    readonly why?: Unwaited;
    /** The event by its key, if it is one that tasks wait for: a later one of that key is a duplicate. */
    readonly keyed?: KeyedEvent;
  };

/** An event among those of its trigger. */
export type KeyedEvent = Pick<NewTask, "project" | "trigger" | "dedupKey">;

/** Exists for the compiler only. */
declare const admittedBrand: unique symbol;

/** A decision that `admit` made: the store takes no other, so no task starts past a filter. */
export type Admitted = EventDecision & { readonly [admittedBrand]: true };

/** A delivery and what was decided of its events, of which there is at least one. */
export interface DecidedDelivery {
  readonly delivery: DeliveryFacts;
  readonly events: readonly Admitted[];
}

/** A delivery with everything that belongs in the same transaction. */
export interface NewDelivery extends DecidedDelivery, DecidedByResources, DedupTimes {
  readonly content: DeliveryContent;
  /** Whether the id names the event itself: a delivery that is stored already changes nothing. */
  readonly once?: boolean;
  /** New position of its schedule. */
  readonly cursor?: Cursor;
}

/** One request as several triggers get it, with everything that belongs in the same transaction. */
export interface NewDeliveries extends DecidedByResources, DedupTimes {
  /** Kept once for all of them. */
  readonly content: DeliveryContent;
  /** One for each trigger, at least one. */
  readonly deliveries: readonly DecidedDelivery[];
}

/** The time up to which a schedule has been evaluated. */
export interface Cursor {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A delivery with its content. */
export interface StoredDelivery {
  readonly delivery: Delivery;
  /** Absent for a rejected delivery that was not to be kept. */
  readonly content?: DeliveryContent;
  /** The delivery that keeps the content for this one, of a request that several triggers got. */
  readonly contentOf?: string;
}

/** A rejected request, with its content where the trigger asks for that. */
export type Rejection = StoredDelivery;

/** How many rejected requests are kept for each trigger. */
export interface RejectionLimits {
  readonly records: number;
  /** Of these, how many with headers and body. */
  readonly contents: number;
}

/** Which deliveries to read a header of. */
export interface HeaderQuery {
  readonly project: string;
  /** Name of the header, in lower case. */
  readonly header: string;
  /** Milliseconds since the epoch of the first ones. */
  readonly since: number;
  /** Only ids below this one, for the next page. */
  readonly before?: string;
  /** Most deliveries that are looked at. */
  readonly limit: number;
}

/** One page of values. */
export interface HeaderPage {
  readonly values: readonly string[];
  /** `before` for the next page; absent after the last one. */
  readonly before?: string;
}

/** Uses of one key of a SecretStore by one trigger. */
export interface KeyUse {
  /** Project of the SecretStore and the trigger. */
  readonly project: string;
  /** Name of the SecretStore. */
  readonly store: string;
  /** Name of the key. */
  readonly key: string;
  /** Trigger whose deliveries the key matched. */
  readonly trigger: string;
  readonly count: number;
  /** Milliseconds since the epoch of the last use. */
  readonly lastAt: number;
}

/** Filter of a list of deliveries. */
export interface DeliveryQuery extends ListQuery {
  /** `failed` lists deliveries that started a task which failed. */
  readonly outcome?: typeof DELIVERY_FILTERS[number];
  /** Several outcomes, in the place of `outcome`; only with `project`. */
  readonly outcomes?: readonly DeliveryOutcome[];
  /** Part of the reason, whatever the case of its letters. */
  readonly reason?: string;
  /** HTTP status of the answer. */
  readonly status?: number;
  /** Address of the peer. */
  readonly remote?: string;
  /** Key of the SecretStore that matched. */
  readonly key?: string;
  /** Only those that took at least so long. */
  readonly minDurationMs?: number;
}
