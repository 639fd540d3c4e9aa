/**
 * `svc mcp`.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { messageOf } from "../../base/errors.ts";
import { serveMcp } from "../../mcp/serve_mcp.ts";
import type { StepFiles } from "../../mcp/step_tools.ts";
import { type Command, CONNECTION, defineCommand } from "../command.ts";
import { readChange } from "../handed_change.ts";
import type { Io } from "../io.ts";

/** A model hands over what lies in its working tree; whether it has committed that makes no difference. */
const EVERY_FILE = { all: true, commit: undefined, onto: undefined };

export const command: Command = defineCommand({
  help:
    "Gives a coding agent tools of svc, over the Model Context Protocol on standard streams. A " +
    "person's agent gets tools that read: lists, tasks, logs, deliveries, backtests. In a step, " +
    "where $SVC_MCP_CONFIG starts it, they are those of the step's own task, as far as the " +
    "workflow's may allows them.",
  options: [
    {
      flags: "--role <role>",
      help: "operator adds tools that retry and cancel tasks and redeliver deliveries",
      choices: ["read_only", "operator"],
      fallback: "read_only",
    },
    ...CONNECTION,
  ],
  examples: [
    "claude mcp add svc -- svc mcp",
    "codex mcp add svc -- svc mcp --role operator",
  ],
  async run(context) {
    const { io } = context;
    using client = context.client();
    await serveMcp({
      client,
      role: context.options.role === "operator" ? "operator" : "read_only",
      ...defined({ step: stepOf(io) }),
      input: io.stdin(),
      write: (line) => io.out(line),
      onBug: (error) => io.err(`error: ${messageOf(error)}\n`),
    });
  },
});

/** The step in which this runs; `undefined` for a person. */
function stepOf(io: Io): StepFiles | undefined {
  const task = io.env("SVC_RUN_TOKEN") ? io.env("SVC_TASK_ID") : undefined;
  if (task === undefined) return undefined;
  return {
    taskId: task,
    output: io.env("SVC_OUTPUT"),
    payload: io.env("SVC_PAYLOAD_FILE"),
    goal: io.env("SVC_GOAL_FILE"),
    packChange: (wanted, { client, signal }) =>
      readChange({ io, options: EVERY_FILE }, { client, signal, purpose: { task, ...wanted } }),
  };
}
