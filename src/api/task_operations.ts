/**
 * The operations on tasks (contract 6, 7): the part of what daemon and client agree on that is about
 * one task or several.
 *
 * @module
 */

/** What became of a request to cancel one task. */
export interface CancelResult {
  /** Which task. */
  readonly id: string;
  /** It never started, is being ended, or had ended before. */
  readonly result: "cancelled" | "stopping" | "ended";
  /** State it has now. */
  readonly state: string;
}

/** A line of a wait: a task that is over as `get` shows it, or a sign of life. */
export type WaitLine =
  | { readonly task: Readonly<Record<string, unknown>> }
  | { readonly waiting: number }
  | { readonly timed_out: readonly string[] };

/** A message to a task. */
export interface InboxEntry {
  /** Place in the inbox, from 0. */
  readonly position: number;
  /** RFC 3339. */
  readonly created_at: string;
  /** The message itself. */
  readonly message: Readonly<Record<string, unknown>>;
}

/** What each operation on tasks takes and gives. */
export interface TaskOperations {
  /** Ends tasks; all are found, or none is touched. */
  "task.cancel": {
    in: { ids: readonly string[]; reason?: string };
    out: { tasks: readonly CancelResult[] };
  };
  /** Stores a task that does again what another one did not get done. */
  "task.retry": {
    in: { id: string; from?: string };
    out: { id: string; retry_of: string; kept: readonly string[]; note: string };
  };
  /** Messages to a task, oldest first. */
  "task.inbox": { in: { id: string }; out: { id: string; messages: readonly InboxEntry[] } };
  /** Sends a message to a task that has not ended. */
  "task.inbox.send": { in: { id: string; text: string }; out: { id: string; position: number } };
  /** The directory in which the steps of a task ran. */
  "task.workspace": {
    in: { id: string };
    out: { id: string; workspace: string; isolation: string; path: string };
  };
}

/** What each streaming operation on tasks takes; it answers in JSON lines. */
export interface TaskStreams {
  /** Output of a task: `LogEntry` lines, then one `LogEnd`. */
  "task.logs": {
    id: string;
    step?: string;
    follow: boolean;
    tail?: number;
    since_secs?: number;
  };
  /** Waits until tasks are over: `WaitLine` lines, one with each task when it is. */
  "task.wait": { ids: readonly string[]; timeout_secs?: number };
}
