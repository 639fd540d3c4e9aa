/**
 * The storage interfaces for the events of chat platforms.
 *
 * @module
 */

import type {
  Binding,
  BindingQuery,
  NewSourceEvent,
  RecordedSourceEvent,
  Routing,
  RoutingResult,
  SourceEvent,
  SourceEventClaim,
  SourceEventDemand,
  SourceEventQuery,
  ThreadKey,
} from "./source_event_records.ts";

/** Records events of chat platforms. */
export interface SourceEventRecorder {
  /** Stores an event of a chat platform with its delivery, unless it is stored already. */
  recordSourceEvent(event: NewSourceEvent): Promise<RecordedSourceEvent>;
}

/** The queue of events to be routed. */
export interface SourceEventQueue {
  /** Claims the oldest due events, at most the first unfinished one of each thread. */
  claimSourceEvents(demand: SourceEventDemand): Promise<SourceEventClaim>;
  /** Carries out the decision on a claimed event, once. */
  routeSourceEvent(id: string, routing: Routing, now: number): Promise<RoutingResult>;
  /**
   * Records that routing failed: `dueAt` is the time of the next attempt, absent for none; `counts`
   * says whether it counts as a failure of the event itself.
   */
  postponeSourceEvent(
    id: string,
    failure: { reason: string; dueAt?: number; counts: boolean },
  ): Promise<void>;
  /**
   * Puts the events back in the queue whose messages no step of an ended task was given, in their order;
   * returns their number. Once: an event that is routed again belongs to that task no more.
   */
  replayUnread(taskId: string, now: number): Promise<number>;
}

/** Events, as an operator reads them. */
export interface SourceEventStore {
  /** Newest first. */
  listSourceEvents(query: SourceEventQuery): Promise<SourceEvent[]>;
  /** Events whose id starts with `prefix`, at most two. */
  findSourceEvents(prefix: string): Promise<SourceEvent[]>;
  /** The event of a delivery; `undefined` for a repetition. */
  findEventOfDelivery(deliveryId: string): Promise<SourceEvent | undefined>;
  /**
   * Returns an event that was not routed to the queue; `false` when it was routed, or is being
   * routed.
   */
  replaySourceEvent(id: string, now: number): Promise<boolean>;
}

/** Which thread of a chat is bound to which task. */
export interface ThreadStore {
  /**
   * The thread that a task, or the one it retries, came from; the conversation where there is no
   * thread.
   */
  findThreadOfTask(taskId: string): Promise<ThreadKey | undefined>;
  /** Binds a thread to a task, whatever it was bound to before. */
  bindThread(binding: Omit<Binding, "createdAt">): Promise<void>;
  /** Newest first. */
  listBindings(query: BindingQuery): Promise<Binding[]>;
  /** Bindings whose id starts with `prefix`, at most two. */
  findBindings(prefix: string): Promise<Binding[]>;
}
