/**
 * What the rooms of the daemon tell each other of. What is stored is announced by the store itself
 * (`announcements.ts`), so that no way to store a task can forget to wake the worker.
 *
 * @module
 */

import type { EventHub } from "../base/event_hub.ts";
import type { RecordName } from "../resources/record_names.ts";
import type { Routed } from "./source_event_records.ts";
import type { Task } from "./task_records.ts";

/** Every event, by name. */
export interface DaemonEvents {
  /** Records appeared, changed or went. */
  readonly recordsChanged: {
    readonly record: RecordName;
    /**
     * The one that was known before and has changed; absent when others may have, or new ones came.
     */
    readonly id?: string;
  };
  /** Tasks were stored which a worker may run now. */
  readonly tasksStored: {
    /** Running tasks that have to end for them (`concurrency: Replace`). */
    readonly replaced: readonly string[];
  };
  /** A task began to run; not published again when it goes on after an interruption. */
  readonly taskStarted: Task;
  /** The end of a task is stored, which the worker brought about. */
  readonly taskEnded: {
    /** As it ended. */
    readonly task: Task;
    /** Whether triggers follow it. */
    readonly followed: boolean;
  };
  /** Events of a chat platform wait to be routed. */
  readonly sourceEventsStored: undefined;
  /** An event of a chat platform was routed to a task. */
  readonly sourceEventRouted: {
    readonly id: string;
    /** What became of it. */
    readonly routed: Routed;
  };
  /** Resources were applied or deleted; the catalog has the change. */
  readonly resourcesChanged: undefined;
  /** Output of a step was written to the log of its task. */
  readonly logWritten: {
    readonly taskId: string;
  };
}

/** Where they are published and heard. */
export type Events = EventHub<DaemonEvents>;
