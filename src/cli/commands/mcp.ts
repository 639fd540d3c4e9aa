/**
 * `svc mcp`.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { messageOf } from "../../base/errors.ts";
import { serveMcp } from "../../mcp/serve_mcp.ts";
import { type Command, CONNECTION, defineCommand } from "../command.ts";

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
    const taskId = io.env("SVC_RUN_TOKEN") ? io.env("SVC_TASK_ID") : undefined;
    await serveMcp({
      client,
      role: context.options.role === "operator" ? "operator" : "read_only",
      ...defined({
        step: taskId === undefined ? undefined : {
          taskId,
          output: io.env("SVC_OUTPUT"),
          payload: io.env("SVC_PAYLOAD_FILE"),
          goal: io.env("SVC_GOAL_FILE"),
        },
      }),
      input: io.stdin(),
      write: (line) => io.out(line),
      onBug: (error) => io.err(`error: ${messageOf(error)}\n`),
    });
  },
});
