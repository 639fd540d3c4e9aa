/**
 * The operations on triggers: a part of what daemon and client agree on.
 *
 * @module
 */

/** What became of an event that an operator made. */
export interface Fired {
  /** Name of the trigger. */
  readonly trigger: string;
  /** `accepted` when a task was started; else `filtered` or `skipped`. */
  readonly outcome: string;
  /** Why; empty when there is nothing to say. */
  readonly reason: string;
  /** Its delivery. */
  readonly delivery_id: string;
  /** The task it started. */
  readonly task_id: string | null;
}

/** What each operation on triggers takes and gives. */
export interface TriggerOperations {
  /** Fires a trigger; `payload` is the text of one JSON object, which the steps get as it stands. */
  "trigger.fire": { in: { name: string; project?: string; payload: string }; out: Fired };
  /** From now on deliveries are only recorded; `changed` unless they were already. */
  "trigger.suspend": {
    in: { name: string; project?: string };
    out: { name: string; changed: boolean };
  };
  /** Deliveries start tasks again; those of before do not. */
  "trigger.resume": {
    in: { name: string; project?: string };
    out: { name: string; changed: boolean };
  };
}
