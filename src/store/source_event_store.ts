/**
 * What the program asks of storage about the events of chat platforms.
 *
 * @module
 */

import type {
  Binding,
  BindingQuery,
  NewSourceEvent,
  RecordedSourceEvent,
  Routed,
  Routing,
  SourceEvent,
  SourceEventClaim,
  SourceEventDemand,
  SourceEventQuery,
  ThreadKey,
} from "./source_event_records.ts";

/** Takes in events of chat platforms. */
export interface SourceEventRecorder {
  /** Stores an event of a chat platform with its delivery, unless it is stored already. */
  recordSourceEvent(event: NewSourceEvent): Promise<RecordedSourceEvent>;
}

/** Events that wait to be routed. */
export interface SourceEventQueue {
  /** Takes the oldest events that are due, of each thread the first one that is not over. */
  claimSourceEvents(demand: SourceEventDemand): Promise<SourceEventClaim>;
  /** Carries out what was decided on a claimed event, once. */
  routeSourceEvent(id: string, routing: Routing, now: number): Promise<Routed>;
  /**
   * Notes that routing failed: `dueAt` says when it is tried again, never when absent; `counts`
   * whether it is the event's own failure.
   */
  postponeSourceEvent(
    id: string,
    failure: { reason: string; dueAt?: number; counts: boolean },
  ): Promise<void>;
}

/** Events as an operator sees them. */
export interface SourceEventStore {
  /** Newest first. */
  listSourceEvents(query: SourceEventQuery): Promise<SourceEvent[]>;
  /** Events whose id starts with `prefix`, at most two. */
  findSourceEvents(prefix: string): Promise<SourceEvent[]>;
  /** The event that a delivery brought; none when it was a repetition. */
  findEventOfDelivery(deliveryId: string): Promise<SourceEvent | undefined>;
  /** Puts an event that was not routed back in the queue; `false` when it was, or is being. */
  replaySourceEvent(id: string, now: number): Promise<boolean>;
}

/** Which thread of a chat belongs to which task. */
export interface ThreadStore {
  /**
   * The thread, or where there is none the conversation, that a task or the one it repeats came
   * from.
   */
  findThreadOfTask(taskId: string): Promise<ThreadKey | undefined>;
  /** Binds a thread to a task, whatever it was bound to before. */
  bindThread(binding: Omit<Binding, "createdAt">): Promise<void>;
  /** Newest first. */
  listBindings(query: BindingQuery): Promise<Binding[]>;
  /** Bindings whose id starts with `prefix`, at most two. */
  findBindings(prefix: string): Promise<Binding[]>;
}
