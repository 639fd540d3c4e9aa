/**
 * `svc task logs` (spec 1.7, contract 6).
 *
 * @module
 */

import type { LogEnd, LogEntry } from "../api/operations.ts";
import { findBase64 } from "../base/bytes.ts";
import { type Command, type CommandContext, CONNECTION } from "./command.ts";
import { TerminalText } from "./terminal_text.ts";

/** Prints the output of a task. */
export const command: Command = {
  help: "Prints what the steps of a task printed, in order, secrets as ***. " +
    "Of a task that never started, its reason on standard error.",
  arguments: [{ name: "<task>", help: "id of the task, or its beginning" }],
  options: [
    { flags: "-f, --follow", help: "go on until the task has ended" },
    { flags: "--step <id>", help: "only this step" },
    {
      flags: "-o, --output <format>",
      help: "how to print; json is one line a chunk",
      choices: ["text", "json"],
      fallback: "text",
    },
    ...CONNECTION,
  ],
  examples: ["svc task logs 01K9", "svc task logs 01K9 -f --step build"],
  async run(context: CommandContext) {
    const { io } = context;
    const step = context.option("step");
    const json = context.option("output") === "json";
    const text = new TerminalText(io.outIsTerminal);
    let printed = false;
    using client = context.client();
    const lines = client.stream("task.logs", {
      id: context.argument(0),
      follow: context.flag("follow"),
      ...(step === undefined ? {} : { step }),
    }) as AsyncIterable<LogEntry | LogEnd>;
    for await (const line of lines) {
      if (json) {
        io.out(`${JSON.stringify(line)}\n`);
      } else if ("data" in line) {
        printed = true;
        io.out(text.clean(findBase64(line.data) ?? new Uint8Array()));
      } else if (!printed && line.reason !== "") {
        io.err(`No output: ${line.reason}\n`);
      }
    }
  },
};
