/**
 * The operation on agents.
 *
 * @module
 */

import Type from "typebox";
import type { DoctorLine } from "./doctor_operations.ts";
import { defineOperation, lines, PROJECT, TEXT } from "./operation.ts";

/** The operation, by name. */
export const AGENT_OPERATIONS = {
  "agent.check": defineOperation({
    summary: "Looks whether a step could run an Agent: sandbox, program, version, secrets, API",
    input: {
      name: TEXT,
      project: PROJECT,
      /** Whether the agent gets a prompt, which uses tokens. */
      prompt: Type.Boolean(),
    },
    // it runs the command of the agent, with its secrets: for admins
    output: lines<DoctorLine>(),
  }),
};
