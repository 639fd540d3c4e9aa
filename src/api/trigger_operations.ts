/**
 * The operations on triggers.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, json, PROJECT, TEXT } from "./operation.ts";

/** The outcome of an event that an operator fired. */
export interface Fired {
  readonly trigger: string;
  /** `accepted` when a task was started; else `filtered` or `skipped`. */
  readonly outcome: string;
  /** Why; empty when there is no reason to give. */
  readonly reason: string;
  readonly delivery_id: string;
  readonly task_id: string | null;
}

/** The result of one stage of a trial. */
export interface TriedStage {
  readonly stage: string;
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
      payload: Type.String({ description: "One JSON object, which the steps get unchanged" }),
    },
    output: json<Fired>(),
    role: "operator",
  }),
  "trigger.suspend": defineOperation({
    summary: "Suspends a trigger: its deliveries are recorded and start nothing",
    input: { name: TEXT, project: PROJECT },
    output: json<SuspendResult>(),
    role: "operator",
  }),
  "trigger.resume": defineOperation({
    summary: "Resumes a suspended trigger; deliveries that were skipped start nothing",
    input: { name: TEXT, project: PROJECT },
    output: json<SuspendResult>(),
    role: "operator",
  }),
};

/** The result of suspending or resuming a trigger. */
export interface SuspendResult {
  /** `trigger/NAME`. */
  readonly name: string;
  /** Whether the state was another one before. */
  readonly changed: boolean;
}
