/**
 * Records of the events of chat platforms, normalised, with the state of their routing, and of the
 * threads that are bound to tasks.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { DedupTimes } from "../resources/dedup_times.ts";
import type { Admitted, DeliveryContent, DeliveryFacts } from "./delivery_records.ts";
import type { ListQuery } from "./list_query.ts";
import type { DecidedByResources } from "./stale_resources.ts";
import type { InboxMessage, TaskState } from "./task_records.ts";

/** Kind of a chat event. */
export type SourceEventKind = "message" | "reaction" | "command" | "interaction" | "system";

/** States of routing; the last four are final until an operator replays the event. */
export const SOURCE_EVENT_STATES = [
  "received",
  "routing",
  "routed",
  "ignored",
  "needs_attention",
  "failed",
] as const;
/** One of {@linkcode SOURCE_EVENT_STATES}. */
export type SourceEventState = typeof SOURCE_EVENT_STATES[number];

/** The part of an event that does not change. */
export interface SourceEventFacts {
  /** Sorts by time. */
  readonly id: string;
  readonly project: string;
  readonly trigger: string;
  /** Platform, such as `slack`. */
  readonly provider: string;
  /** App and team of the event: a signing key never reaches the events of another installation. */
  readonly installationId: string;
  /** Id that the platform gave it, or a digest of the signed body. */
  readonly externalEventId: string;
  /** Delivery with the headers and the exact body. */
  readonly deliveryId: string;
  readonly kind: SourceEventKind;
  /** User that caused the event; empty when the platform names none. */
  readonly actor: string;
  /** Channel; empty when the event belongs to none. */
  readonly conversationId: string;
  /**
   * Thread; for a post that is in no thread yet the post itself; empty when the event belongs to
   * none.
   */
  readonly threadId: string;
  /** Post that the event is about, empty for none: two events about one post count once. */
  readonly postId: string;
  /** Whether the post is in the channel itself, not in a thread. */
  readonly topLevel: boolean;
  /** Text, cut where it is long; the delivery holds all of it. */
  readonly text: string;
  /** Milliseconds since the epoch, by the platform's clock. */
  readonly occurredAt: number;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** An event and the state of its routing. */
export interface SourceEvent extends SourceEventFacts {
  readonly state: SourceEventState;
  /** Empty when there is nothing to say. */
  readonly reason: string;
  /** Task that the event started or was sent to; empty while there is none. */
  readonly taskId: string;
  /** Number of failed attempts to route it. */
  readonly attempts: number;
}

/** An event to be stored. */
export interface NewSourceEvent {
  readonly event: SourceEventFacts;
  /** Reason not to route the event; it is routed when absent. */
  readonly ignored?: string;
  /** The request that brought it. */
  readonly delivery: DeliveryFacts;
  readonly content: DeliveryContent;
  /** Exact JSON of the payload, where that is not the body itself. */
  readonly payload?: Uint8Array;
}

/** Result of storing an event. */
export interface RecordedSourceEvent {
  /** `duplicate` when the platform had sent it before. */
  readonly status: "accepted" | "duplicate";
  /** Id of the stored event; for a duplicate that of the first. */
  readonly id: string;
}

/** An event that is to be routed now. */
export interface ClaimedSourceEvent {
  readonly event: SourceEvent;
  /** Milliseconds since the epoch when the event entered the queue: its arrival, or its replay. */
  readonly queuedAt: number;
  /** Exact JSON. */
  readonly payload: Uint8Array;
  /** Whether the payload is the body of the delivery as it arrived. */
  readonly payloadIsBody: boolean;
  /** Headers of the delivery, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Task that the thread is bound to; absent when it is bound to none. */
  readonly bound?: BoundTask;
  /** Whether the post that began the thread waits for an operator. */
  readonly rootIsOpen: boolean;
}

/** A task that a thread is bound to. */
export interface BoundTask {
  readonly id: string;
  /** Absent when the task is no longer stored. */
  readonly state?: TaskState;
}

/** Destination of a claimed event. */
export type Destination =
  | { readonly to: "nowhere"; readonly state: SourceEventState; readonly reason: string }
  | { readonly to: "inbox"; readonly taskId: string; readonly message: JsonObject }
  /** It was an answer to an approval, whatever came of it: the reason says that. */
  | { readonly to: "answer"; readonly taskId: string; readonly reason: string }
  | DedupTimes & DecidedByResources & {
    readonly to: "task";
    readonly decision: Admitted;
    /** Whether the thread is bound to the new task. */
    readonly bind: boolean;
    /** Reason for which replies of the thread were ignored that the new task is to receive now. */
    readonly strays?: string;
  };

/**
 * The router's decision on a claimed event; it is made again when the facts behind it have changed.
 */
export type Routing = Destination & {
  /** Task that the thread was bound to at that time; absent when it was bound to none. */
  readonly boundTo?: string;
};

/** Result of routing a claimed event. */
export interface RoutingResult {
  /** State of the event; `received` when the routing has to be decided again. */
  readonly state: SourceEventState;
  /** Task that the event started or was sent to. */
  readonly taskId?: string;
  /** Message that was added to the inbox of that task. */
  readonly message?: InboxMessage;
  /** Whether a task was started. */
  readonly started?: boolean;
  /** Whether that task ended at once, because something it needs is missing. */
  readonly ended?: boolean;
  /** Running tasks that have to end for it (`concurrency: Replace`). */
  readonly replaces?: readonly string[];
}

/** Events to be routed now, and when to claim again. */
export interface SourceEventClaim {
  /** Oldest first; at most one of each thread. */
  readonly events: readonly ClaimedSourceEvent[];
  /**
   * When the next event is due, in milliseconds since the epoch; absent when none waits for a time.
   */
  readonly nextAt?: number;
}

/** Identifies one thread of one trigger. */
export interface ThreadKey {
  readonly project: string;
  readonly trigger: string;
  /** App and team. */
  readonly installationId: string;
  /** Channel. */
  readonly conversationId: string;
  readonly threadId: string;
}

/** A thread that is bound to a task. */
export interface Binding extends ThreadKey {
  /** Sorts by time. */
  readonly id: string;
  /** Newest task of the thread. */
  readonly taskId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch when the thread was bound to this task. */
  readonly updatedAt: number;
}

/** Which events a node claims. */
export interface SourceEventDemand {
  /** Most events to claim. */
  readonly limit: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Age in milliseconds from which a claim is given up. */
  readonly staleMs: number;
  /**
   * The only events that this node is routing: its other claims are given up; when absent, none of
   * them is. Claims of nodes that are gone are given up with them, or at any time where several
   * nodes share the store.
   */
  readonly routing?: readonly string[];
  /** Triggers (`project/trigger`) that have used their share for now. */
  readonly busy?: readonly string[];
}

/** Filter of a list of events. */
export interface SourceEventQuery extends ListQuery {
  readonly state?: string;
  /** Id of their thread at the platform. */
  readonly thread?: string;
}

/** Filter of a list of bindings. */
export type BindingQuery = ListQuery;
