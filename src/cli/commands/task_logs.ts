/**
 * `svc task logs`.
 *
 * @module
 */

import type { LogEnd } from "../../api/task_operations.ts";
import type { Client } from "../../api/client.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { TASK_STATES } from "../../store/task_records.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  PROJECT,
  TASK,
} from "../command.ts";
import { count, DURATION, type OptionDefinition } from "../option.ts";
import { interruptible } from "../interrupt.ts";
import { LogPrinter } from "../log_printer.ts";
import { printable } from "../terminal_text.ts";

const OPTIONS = [
  { flags: "--latest", help: "the newest task, with --trigger or --state the newest of these" },
  {
    flags: "--trigger <name>",
    help: "with --latest: only tasks of this trigger",
    complete: "trigger",
  },
  {
    flags: "--state <state>",
    help: "with --latest: only tasks in this state",
    complete: TASK_STATES,
  },
  { flags: "--exit-status", help: "exit 0 only if the task has succeeded, else 1" },
  PROJECT,
  { flags: "-f, --follow", help: "keep printing until the task has ended" },
  { flags: "--step <id>", help: "only this step", complete: "step" },
  {
    flags: "--tail <n>",
    value: count(0, 100_000),
    help: "only the last lines; with -f also new ones",
  },
  { flags: "--grep <text>", help: "only lines that contain this text, in any case" },
  {
    flags: "--since <duration>",
    value: DURATION,
    help: "only the output of the last 10m, 1h, …",
  },
  { flags: "--raw", help: "only what agents printed as they printed it, such as JSON lines" },
  { flags: "--prefix", help: "begin each line with its step: [build] …" },
  { flags: "--timestamps", help: "begin each line with its time" },
  {
    flags: "-o, --output <format>",
    help: "how to print; json is one line per chunk",
    choices: ["text", "json"],
    fallback: "text",
  },
  ...CONNECTION,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help:
    "Prints the output of the steps of a task, in order, secrets as ***. svc's own messages go " +
    'to standard error, in lines such as [svc: step "build" failed: exit code 1]: how a step ' +
    "or a task failed, that it never started, or that a step runs again. The name of a trigger " +
    "stands for its latest task. Of an Agent with output, the log has lines for people; --raw " +
    "prints what they were made of.",
  arguments: [{ name: "[task]", help: `${TASK.help}; or the name of a trigger`, complete: "task" }],
  options: OPTIONS,
  examples: [
    "svc task logs latest",
    "svc task logs --latest --trigger github-push --exit-status",
    "svc task logs latest -f --prefix",
    "svc task logs latest --step build --tail 20 --timestamps",
    "svc task logs latest --grep error --prefix",
  ],
  run(context) {
    const { io } = context;
    const [step, tail] = [context.options.step, context.options.tail];
    const since = context.options.since;
    const grep = context.options.grep;
    if (grep === "") throw new AppError("usage", "--grep needs the text that the lines contain");
    const json = context.options.output === "json";
    const printer = new LogPrinter(io, {
      prefix: context.options.prefix,
      timestamps: context.options.timestamps,
    });
    return interruptible(io, async (signal) => {
      using client = context.client();
      const lines = client.stream("task.logs", {
        id: await nameOf(context, client),
        follow: context.options.follow,
        ...defined({ step, tail, since_secs: since, contains: grep }),
        ...(context.options.raw ? { raw: true } : {}),
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
      const isAll = (tail ?? since ?? grep) === undefined;
      if (context.options.raw && isAll && !json && !printer.printed) {
        printer.note(
          "[svc: nothing: only steps whose Agent has an output such as claude keep events]",
        );
      }
      const line = endLine(end);
      if (!json && line !== "" && (step === undefined || !printer.printed)) printer.note(line);
      return context.options.exitStatus && end.state !== "succeeded" ? 1 : 0;
    });
  },
});

/** The last line: the state of a failed or cancelled task, or of one with a reason; else empty. */
function endLine({ state, reason }: LogEnd): string {
  const isBad = state === "failed" || state === "cancelled";
  if (!isBad && reason === "") return "";
  return `[svc: task ${state}${reason === "" ? "" : `: ${printable(reason)}`}]`;
}

/** The name of the task: the argument, or the id of the latest task of a trigger or state. */
async function nameOf(context: Context<typeof OPTIONS>, client: Client): Promise<string> {
  const given = context.argument(0);
  const trigger = context.options.trigger;
  const state = context.options.state;
  const isLatest = context.options.latest;
  if (isLatest === (given !== "") || !isLatest && (trigger ?? state) !== undefined) {
    throw new AppError(
      "usage",
      "Name a task or a trigger, or give --latest, alone or with --trigger and --state",
    );
  }
  if (!isLatest && !TRIGGER_NAME.test(given)) return given;
  const wanted = isLatest ? trigger : given;
  const { items: [task] } = await client.call("get", {
    what: "task",
    ...context.project(),
    ...defined({ trigger: wanted, state }),
    limit: 1,
  });
  if (task !== undefined) return String(task["id"]);
  if (state !== undefined || wanted === undefined) {
    throw new AppError("not_found", 'No task matches: "svc get tasks" lists them');
  }
  try {
    await client.call("get", { what: "trigger", name: wanted, ...context.project() });
  } catch (error) {
    const isUnknown = error instanceof AppError && error.code === "not_found";
    if (isUnknown && !isLatest && PART_OF_ID.test(given)) return given;
    throw error;
  }
  throw new AppError(
    "not_found",
    `Trigger "${wanted}" has started no task yet: "svc get deliveries --trigger ${wanted}" ` +
      `lists its deliveries, "svc trigger fire ${wanted}" starts one`,
  );
}

/** The digits of ids; a text with other characters cannot be part of one. */
const PART_OF_ID = /^[0-9a-hjkmnp-tv-z]+$/;

/** A name of a trigger: in lower case, and not as long as an id. */
const TRIGGER_NAME = /^(?!latest$)(?!.{26}$)[a-z0-9-]+$/;
