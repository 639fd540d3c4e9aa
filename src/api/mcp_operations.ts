/**
 * The operations for `svc mcp` alone: which tools its caller has, and what the task of a step is about.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, json, TASK } from "./operation.ts";

/** A tool as `svc mcp` lists and calls it. */
export interface ToolView {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of its arguments: an object. */
  readonly input_schema: Readonly<Record<string, unknown>>;
  /** Whether it changes nothing. */
  readonly read_only: boolean;
  /** Whether its answer has text that someone else wrote. */
  readonly from_outside: boolean;
  /** The operation that it calls. */
  readonly operation: string;
  /** Whether that answers in JSON lines. */
  readonly streams: boolean;
  /** Fields of the operation that are no arguments, because the run token decides on them. */
  readonly bound: Readonly<Record<string, string>>;
}

/** What a task is about, as far as svc itself knows it. */
export interface TaskLook {
  readonly id: string;
  readonly project: string;
  readonly trigger: string;
  readonly workflow: string;
  /** The issue, pull or commit at its forge; `null` if its event has none. */
  readonly subject: {
    readonly repository: string;
    /** Of the issue or pull; `null` for a commit. */
    readonly number: number | null;
  } | null;
}

/** The operations for `svc mcp`, by name. */
export const MCP_OPERATIONS = {
  "mcp.tools": defineOperation({
    summary: "Lists the tools that a language model may have from this caller",
    input: {
      role: Type.Optional(
        Type.Enum(["read_only", "operator"], {
          description: "With `operator` also tools that change something; `read_only` when absent",
        }),
      ),
      task: Type.Optional(TASK),
    },
    output: json<{
      /** The task of the caller, if it is a step. */
      readonly task_id: string | null;
      readonly tools: readonly ToolView[];
    }>(),
    role: "read_only",
    grants: { step: { own: "task", in: "task" } },
  }),
  "task.look": defineOperation({
    summary: "Shows a step what its task is about",
    input: { task: TASK },
    output: json<TaskLook>(),
    role: "read_only",
    grants: { step: { own: "task", in: "task" } },
    tool: {
      for: "step",
      description: "What this task is about: its goal, the issue or pull request, and the event " +
        "that started it.",
      readOnly: true,
      fromOutside: true,
    },
  }),
};
