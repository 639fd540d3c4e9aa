/**
 * `svc task logs`.
 *
 * @module
 */

import type { LogEnd } from "../../api/task_operations.ts";
import { AppError } from "../../base/errors.ts";
import { type Command, type CommandContext, CONNECTION, TASK } from "../command.ts";
import { interruptible } from "../interrupt.ts";
import { LogPrinter } from "../log_printer.ts";
import { printable } from "../terminal_text.ts";

/** Prints the output of a task. */
export const command: Command = {
  help: "Prints the output of the steps of a task, in order, secrets as ***. For a task that " +
    "never started, prints the reason on standard error.",
  arguments: [TASK],
  options: [
    { flags: "-f, --follow", help: "keep printing until the task has ended" },
    { flags: "--step <id>", help: "only this step" },
    { flags: "--tail <n>", help: "only the last lines, with -f also what follows" },
    { flags: "--since <duration>", help: "only the output of the last 10m, 1h, …" },
    { flags: "--prefix", help: "begin each line with its step: [build] …" },
    { flags: "--timestamps", help: "begin each line with its time" },
    {
      flags: "-o, --output <format>",
      help: "how to print; json is one line per chunk",
      choices: ["text", "json"],
      fallback: "text",
    },
    ...CONNECTION,
  ],
  examples: [
    "svc task logs latest",
    "svc task logs latest -f --prefix",
    "svc task logs latest --step build --tail 20 --timestamps",
  ],
  run(context: CommandContext) {
    const { io } = context;
    const [step, tail] = [context.option("step"), context.count("tail", 0, 100_000)];
    const since = context.duration("since");
    const json = context.option("output") === "json";
    const printer = new LogPrinter(io, {
      prefix: context.flag("prefix"),
      timestamps: context.flag("timestamps"),
    });
    return interruptible(io, async (signal) => {
      using client = context.client();
      const lines = client.stream("task.logs", {
        id: context.argument(0),
        follow: context.flag("follow"),
        ...(step === undefined ? {} : { step }),
        ...(tail === undefined ? {} : { tail }),
        ...(since === undefined ? {} : { since_secs: since }),
      }, signal);
      let end: LogEnd | undefined;
      try {
        for await (const line of lines) {
          if ("state" in line) end = line;
          if (json) io.out(`${JSON.stringify(line)}\n`);
          else if ("data" in line) printer.print(line);
        }
      } finally {
        printer.end();
      }
      if (end === undefined) {
        throw new AppError("unreachable", "The daemon is stopping: follow again when it runs");
      }
      if (!json && !printer.printed && end.reason !== "") {
        io.err(`No output: ${printable(end.reason)}\n`);
      }
    });
  },
};
