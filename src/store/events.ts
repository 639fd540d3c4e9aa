/**
 * Events between the parts of the daemon. The store announces its changes itself
 * (`store_methods.ts`), so that every way to store a task wakes the worker.
 *
 * @module
 */

import type { EventHub } from "../base/event_hub.ts";
import type { RecordName } from "../resources/record_names.ts";
import type { DeliveryFacts } from "./delivery_records.ts";
import type { Incident } from "./incident_records.ts";
import type { OutboxMessage } from "./outbox_records.ts";
import type { RoutingResult } from "./source_event_records.ts";
import type { Task } from "./task_records.ts";

/** Every event, by name, with its data. */
export interface DaemonEvents {
  /** A record was stored or has changed, or several were stored, changed or removed. */
  readonly recordsChanged: {
    readonly record: RecordName;
    /** Id of the record; absent when any may have changed, or records were removed. */
    readonly id?: string;
  };
  /**
   * A delivery was stored with its events, of which a step may wait for one. Not hinted to other daemons:
   * the one that stored it looks at it.
   */
  readonly deliveryStored: DeliveryFacts;
  /** Tasks were stored that a worker may run now. */
  readonly tasksStored: {
    /** Running tasks that have to end for the new ones (`concurrency: Replace`). */
    readonly replaced: readonly string[];
  };
  /**
   * A task begins to run, and its sender is permitted to start it. Not published again when it
   * continues after an interruption, unless no step had started.
   */
  readonly taskStarted: Task;
  /** The worker ended a task, and the end is stored. */
  readonly taskEnded: {
    /** The task in its final state. */
    readonly task: Task;
  };
  /** A step waits for child tasks, or the time of its wait has begun anew. */
  readonly childrenAwaited: undefined;
  /** Tasks that triggers follow have ended; the ends are stored until those triggers have fired. */
  readonly taskEndsStored: undefined;
  /** Events of a chat platform wait to be routed. */
  readonly sourceEventsStored: undefined;
  /** An event of a chat platform was routed to a task. */
  readonly sourceEventRouted: {
    readonly id: string;
    readonly routed: RoutingResult;
  };
  /** The App of a Connection was installed elsewhere, suspended or removed. */
  readonly installationChanged: { readonly project: string; readonly name: string };
  /** Messages of the outbox wait to be sent. */
  readonly messagesStored: undefined;
  /** A message of the outbox was sent, given up or dropped; what it is now. */
  readonly messageEnded: OutboxMessage;
  /** Resources were stored, by this daemon or another; the catalog may not hold them yet. */
  readonly resourcesStored: undefined;
  /** Resources were applied or deleted; the catalog holds the change. */
  readonly resourcesChanged: undefined;
  /** A task that a worker has started is to be stopped, and this is stored. */
  readonly taskStopping: {
    /** Absent when any may have to be. */
    readonly taskId?: string;
    /** Why; absent with it. */
    readonly reason?: string;
  };
  /** Other daemons may take over the tasks of this one: it stops them, and claims none. */
  readonly leaseEnded: undefined;
  /** This daemon may run tasks again. */
  readonly leaseRegained: undefined;
  /** Another daemon has claimed tasks of this one. */
  readonly claimsLost: { readonly taskIds: readonly string[] };
  /** A message to a task was stored. */
  readonly inboxFilled: {
    /** Absent when any may have one. */
    readonly taskId?: string;
  };
  /** A failure that no task shows; a Notification may report it. */
  readonly incidentHappened: Incident;
  /** Output of a step was written to the log of its task. */
  readonly logWritten: {
    /** Absent when any may have been written to. */
    readonly taskId?: string;
  };
}

/** The hub of these events. */
export type Events = EventHub<DaemonEvents>;
