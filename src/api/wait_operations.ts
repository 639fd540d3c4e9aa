/**
 * The operations on waits of tasks.
 *
 * @module
 */

import { defineOperation, json, TASK } from "./operation.ts";
import { EVERY_RUN } from "./roles.ts";

/** A wait of a task for an event, and which of the newest events of its trigger came near. */
export interface WaitLookView {
  /** Id of the step. */
  readonly step: string;
  readonly trigger: string;
  /** Then nothing but time or a person ends the wait. */
  readonly trigger_deleted: boolean;
  /** How many of the newest deliveries were looked at. */
  readonly looked: number;
  /** The nearest first, one for each reason, at most 3. */
  readonly misses: readonly {
    readonly delivery_id: string;
    /** RFC 3339. */
    readonly received_at: string;
    /** What kept it from ending the wait; texts of the event in it are cut. */
    readonly why: string;
  }[];
}

/** The operations, by name. */
export const WAIT_OPERATIONS = {
  "task.waits": defineOperation({
    summary:
      "Shows the events that a task waits for, and which came near, of the newest of each trigger",
    input: { id: TASK },
    output: json<{ readonly waits: readonly WaitLookView[] }>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
  }),
};
