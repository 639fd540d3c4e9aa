/**
 * The operations on triggers.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, json, PROJECT, TEXT } from "./operation.ts";

/** What became of an event that an operator made. */
export interface Fired {
  /** Name of the trigger. */
  readonly trigger: string;
  /** `accepted` when a task was started; else `filtered` or `skipped`. */
  readonly outcome: string;
  /** Why; empty when there is nothing to say. */
  readonly reason: string;
  readonly delivery_id: string;
  /** The task it started. */
  readonly task_id: string | null;
}

/** What one stage said about a request that was only tried. */
export interface TriedStage {
  /** Name of the stage. */
  readonly stage: string;
  /** What it said, in words. */
  readonly result: string;
}

/** The operations on triggers, by name. */
export const TRIGGER_OPERATIONS = {
  "trigger.test": defineOperation({
    summary: "Runs a request through a trigger without storing or starting anything",
    input: {
      name: TEXT,
      project: PROJECT,
      body: Type.String({ description: "The bytes in base64" }),
      headers: Type.Record(TEXT, TEXT),
      sign: Type.Boolean(),
    },
    output: json<{ readonly would: string; readonly stages: readonly TriedStage[] }>(),
    role: "operator",
  }),
  "trigger.fire": defineOperation({
    summary: "Fires a trigger by hand",
    input: {
      name: TEXT,
      project: PROJECT,
      payload: Type.String({ description: "One JSON object, which the steps get as it stands" }),
    },
    output: json<Fired>(),
    role: "operator",
  }),
  "trigger.suspend": defineOperation({
    summary: "Suspends a trigger: records its deliveries, starts nothing",
    input: { name: TEXT, project: PROJECT },
    output: json<SuspendResult>(),
    role: "operator",
  }),
  "trigger.resume": defineOperation({
    summary: "Resumes a suspended trigger; deliveries of before start nothing",
    input: { name: TEXT, project: PROJECT },
    output: json<SuspendResult>(),
    role: "operator",
  }),
};

/** What came of suspending or resuming a trigger. */
export interface SuspendResult {
  /** `trigger/NAME`. */
  readonly name: string;
  /** Whether it was not so already. */
  readonly changed: boolean;
}
