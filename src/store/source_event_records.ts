/**
 * Events of chat platforms as storage keeps them: normalised, with where their routing
 * stands, and the threads that belong to a process.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { Admitted, Delivery, DeliveryContent } from "./delivery_records.ts";
import type { ListQuery } from "./list_query.ts";
import type { InboxMessage, TaskState } from "./task_records.ts";

/** What an event is about. */
export type SourceEventKind = "message" | "reaction" | "command" | "interaction" | "system";

/** Where routing can stand; the last four are final until an operator replays the event. */
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
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Project of the trigger. */
  readonly project: string;
  /** Name of the trigger. */
  readonly trigger: string;
  /** Platform, such as `slack`. */
  readonly provider: string;
  /** App and team it came from: one signing key never reaches the events of another. */
  readonly installationId: string;
  /** What the platform calls it, or a digest of the signed body. */
  readonly externalEventId: string;
  /** Delivery that brought it: headers and exact body. */
  readonly deliveryId: string;
  /** What it is about. */
  readonly kind: SourceEventKind;
  /** Who did it; empty when nobody is named. */
  readonly actor: string;
  /** Channel; empty when it is about none. */
  readonly conversationId: string;
  /** Thread; of a post that starts none yet, the post itself; empty when it is about none. */
  readonly threadId: string;
  /** The post it is about: two events about one post count once; empty when it is about none. */
  readonly postId: string;
  /** Whether it stands in the channel itself, not in a thread. */
  readonly topLevel: boolean;
  /** Text, cut where it is long; the delivery has all of it. */
  readonly text: string;
  /** Milliseconds since the epoch, by the platform's clock. */
  readonly occurredAt: number;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** One event and what became of it. */
export interface SourceEvent extends SourceEventFacts {
  /** Where routing stands. */
  readonly state: SourceEventState;
  /** Why; empty when there is nothing to say. */
  readonly reason: string;
  /** Task it started or went to; empty while there is none. */
  readonly taskId: string;
  /** How often routing has failed. */
  readonly attempts: number;
}

/** An event to be stored. */
export interface NewSourceEvent {
  readonly event: SourceEventFacts;
  /** Why it is not to be routed; it is when absent. */
  readonly ignored?: string;
  /** The request that brought it. */
  readonly delivery: Omit<Delivery, "outcome" | "reason" | "taskId">;
  /** What arrived. */
  readonly content: DeliveryContent;
  /** Exact JSON of the payload, where that is not the body itself. */
  readonly payload?: Uint8Array;
}

/** Whether an event is new, and the id of the one that is stored. */
export interface RecordedSourceEvent {
  /** `duplicate` when the platform sent it before. */
  readonly status: "accepted" | "duplicate";
  /** Identifier of the event, of a duplicate that of the first. */
  readonly id: string;
}

/** An event that is to be routed now. */
export interface ClaimedSourceEvent {
  readonly event: SourceEvent;
  /** Milliseconds since the epoch when it was put in the queue: when it came, or was replayed. */
  readonly queuedAt: number;
  /** Exact JSON of its payload. */
  readonly payload: Uint8Array;
  /** Whether that is the body of its delivery as it arrived. */
  readonly payloadIsBody: boolean;
  /** Headers of its delivery, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Task its thread is bound to; absent when it is bound to none. */
  readonly bound?: BoundTask;
  /** Whether the post that began its thread waits for a person. */
  readonly rootIsOpen: boolean;
}

/** A task that a thread is bound to. */
export interface BoundTask {
  /** Identifier. */
  readonly id: string;
  /** Where it stands; absent when it is no longer stored. */
  readonly state?: TaskState;
}

/** Where a claimed event is to go. */
export type Destination =
  | { readonly to: "nowhere"; readonly state: SourceEventState; readonly reason: string }
  | { readonly to: "inbox"; readonly taskId: string; readonly message: JsonObject }
  | {
    readonly to: "task";
    readonly decision: Admitted;
    /** Whether its thread is bound to the task from now on. */
    readonly bind: boolean;
    /** Replies of its thread that were ignored for this reason have found their task then. */
    readonly strays?: string;
    /** How long a key makes later events duplicates, in milliseconds. */
    readonly dedupWindowMs: number;
  };

/** What is to become of a claimed event; decided again when what it was decided on has changed. */
export type Routing = Destination & {
  /** Task its thread was bound to then; absent when to none. */
  readonly boundTo?: string;
};

/** What became of a claimed event. */
export interface Routed {
  /** Where it stands; `received` when it has to be decided again. */
  readonly state: SourceEventState;
  /** Task it started or went to. */
  readonly taskId?: string;
  /** What was added to the inbox of that task. */
  readonly message?: InboxMessage;
  /** Whether a task was started. */
  readonly started?: boolean;
  /** Whether that task ended at once, because something is missing for it. */
  readonly ended?: boolean;
  /** Running tasks that have to end for it (`concurrency: Replace`). */
  readonly replaces?: readonly string[];
}

/** What there is to route, and when to ask again. */
export interface SourceEventClaim {
  /** Oldest first; at most one of a thread. */
  readonly events: readonly ClaimedSourceEvent[];
  /**
   * When the next one is due, in milliseconds since the epoch; absent when none waits for a time.
   */
  readonly nextAt?: number;
}

/** Names one thread of one trigger. */
export interface ThreadKey {
  /** Project of the trigger. */
  readonly project: string;
  /** Name of the trigger. */
  readonly trigger: string;
  /** App and team. */
  readonly installationId: string;
  /** Channel. */
  readonly conversationId: string;
  /** Thread. */
  readonly threadId: string;
}

/** A thread that belongs to a process. */
export interface Binding extends ThreadKey {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Newest task of the process. */
  readonly taskId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch when the task was last another. */
  readonly updatedAt: number;
}

/** Which events are wanted, and who asks. */
export interface SourceEventDemand {
  /** At most this many. */
  readonly limit: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** After how long the claim on an event is given up, in milliseconds. */
  readonly staleMs: number;
  /**
   * The only ones that this node is routing: its other claims, and those of nodes that are gone,
   * are given up. No claim is, when absent.
   */
  readonly routing?: readonly string[];
  /** Triggers (`project/trigger`) that have had their share for now. */
  readonly busy?: readonly string[];
}

/** Which events a list is to hold. */
export interface SourceEventQuery extends ListQuery {
  /** Only in this state. */
  readonly state?: string;
  /** Only with an id below this one, to read on. */
  readonly before?: string;
}

/** Which bindings a list is to hold. */
export interface BindingQuery extends ListQuery {
  /** Only with an id below this one, to read on. */
  readonly before?: string;
}
