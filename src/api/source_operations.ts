/**
 * The operations on events of chat platforms (contract 8): a part of what daemon and client agree on.
 *
 * @module
 */

/** What each operation on source events takes and gives. */
export interface SourceOperations {
  /** Routes an event once more that was ignored, failed or needs attention. */
  "source.replay": { in: { id: string }; out: { id: string } };
  /** Binds the thread of an event to a task, and routes the event if nothing came of it before. */
  "source.bind": {
    in: { id: string; task: string };
    out: { id: string; thread_id: string; task_id: string; replayed: boolean };
  };
  /** Posts a text to the thread a task came from. */
  "slack.reply": {
    in: { task: string; text: string };
    out: { task_id: string; channel: string; ts: string };
  };
}
