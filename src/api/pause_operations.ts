/**
 * The operations that keep workers from taking tasks, and let them take tasks again.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, json, OPTIONAL_SECS, OPTIONAL_TEXT } from "./operation.ts";

/** A pause that is in force. */
export interface PauseView {
  /** `null` for the tasks of every project. */
  readonly project: string | null;
  readonly reason: string;
  /** `socket`, or the name of a token. */
  readonly by: string;
  /** RFC 3339. */
  readonly since: string;
  /** RFC 3339: when it ends by itself; `null` if it does not. */
  readonly until: string | null;
}

/** A pause with what goes on in spite of it. */
export interface Paused extends PauseView {
  /** Number of tasks that still run. */
  readonly running: number;
}

/** The operations, by name. */
export const PAUSE_OPERATIONS = {
  "pause": defineOperation({
    summary:
      "Lets no worker take a task, of one project or of all, while events are stored as ever",
    input: {
      project: OPTIONAL_TEXT,
      for_secs: OPTIONAL_SECS,
      reason: Type.String({ minLength: 1, maxLength: 1000 }),
    },
    output: json<Paused>(),
    role: "operator",
  }),
  "pause.running": defineOperation({
    summary: "Counts the tasks that run, of one project or of all",
    input: { project: OPTIONAL_TEXT },
    output: json<{ readonly running: number }>(),
    role: "read_only",
  }),
  "resume": defineOperation({
    summary: "Ends the pause of one project, or that of all",
    input: { project: OPTIONAL_TEXT },
    output: json<PauseView>(),
    role: "operator",
  }),
};
