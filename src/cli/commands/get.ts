/**
 * `svc get`: lists resources and records.
 *
 * @module
 */

import type { GetInput, Listing } from "../../api/resource_operations.ts";
import { AppError } from "../../base/errors.ts";
import { RECORD_PLURALS } from "../../resources/record_names.ts";
import { type Command, type CommandContext, CONNECTION, OUTPUT, PROJECT } from "../command.ts";
import type { Io } from "../io.ts";
import { interruptible } from "../interrupt.ts";
import { type Format, printListing, printValue } from "../print.ts";
import { WatchPrinter } from "../watch_printer.ts";

/** Lists things. */
export const command: Command = {
  help: "Lists resources (triggers, workflows, workspaces, secretstores, projects) and records " +
    `(${RECORD_PLURALS.join(", ")}), records newest first. ` +
    " KIND may be singular, plural or a short name. With --watch, records oldest first, then " +
    "what is added or changed, until Ctrl-C.",
  arguments: [
    { name: "<kind>", help: "what to list, or KIND/NAME for one" },
    { name: "[name]", help: "name of one, or the beginning of an id" },
  ],
  options: [
    PROJECT,
    { flags: "-l, --selector <labels>", help: "only resources with these labels: k=v,k2=v2" },
    { flags: "--trigger <name>", help: "only records of this trigger" },
    {
      flags: "--state <state>",
      help: "only tasks in this state: pending, running, succeeded, failed, cancelled; or " +
        "source-events: received, routed, ignored, needs_attention, failed …",
    },
    { flags: "--workflow <name>", help: "only tasks of this workflow" },
    {
      flags: "--outcome <outcome>",
      help:
        "only deliveries with this outcome: accepted, filtered, duplicate, skipped, rejected, failed …",
    },
    { flags: "--since <duration>", help: "only records of the last 1h, 7d, …" },
    { flags: "--limit <n>", help: "at most this many (records: 50 unless given)" },
    { flags: "--before <id>", help: "only records older than this id: the next page" },
    {
      flags: "-w, --watch",
      help: "keep printing what is added or changed; json is one object per line",
    },
    OUTPUT,
    ...CONNECTION,
  ],
  examples: [
    "svc get task",
    "svc get task 01K9 -o json",
    "svc get task -w --trigger github-push",
    "svc get tasks --state failed --since 1d",
    "svc get triggers -o wide",
    "svc get deliveries --trigger github-push --outcome rejected --since 1d",
  ],
  async run(context: CommandContext) {
    const input = toInput(context);
    const format = context.option("output") as Format;
    if (context.flag("watch")) return await watch(input, format, context);
    using client = context.client();
    const listing = await client.call("get", input);
    const [one] = listing.items;
    if (input.name !== undefined && (format === "json" || format === "yaml")) {
      return await printValue(one, format, context.io);
    }
    await printListing(listing, format, context.io);
    hintAtMore(listing, context.io);
  },
};

const TEXTS = ["trigger", "state", "workflow", "outcome", "before", "selector"] as const;

function toInput(context: CommandContext): GetInput {
  const { what, name } = splitKindAndName(context.argument(0), context.argument(1));
  const limit = context.count("limit", 1);
  const since = context.duration("since");
  const texts = TEXTS.map((option) => [option, context.option(option)] as const);
  return {
    what,
    ...(name === "" ? {} : { name }),
    ...context.project(),
    ...Object.fromEntries(texts.filter(([, text]) => text !== undefined)),
    ...(since === undefined ? {} : { since_secs: since }),
    ...(limit === undefined ? {} : { limit }),
  };
}

function watch(input: GetInput, format: Format, context: CommandContext): Promise<number> {
  const printer = new WatchPrinter(context.io, format);
  return interruptible(context.io, async (signal) => {
    using client = context.client();
    const lines = client.stream("get.watch", input, signal);
    for await (const line of lines) await printer.print(line);
    throw new AppError("unreachable", "The daemon is stopping: watch again when it runs");
  });
}

/** People are told how to read on; a script that wants more asks for more. */
function hintAtMore({ more_before: last }: Listing, io: Io): void {
  if (io.outIsTerminal && last !== undefined) io.err(`There may be more: add --before ${last}\n`);
}

/**
 * `KIND/NAME` or `KIND NAME`.
 *
 * @throws {AppError} `usage` when a name is given twice.
 */
export function splitKindAndName(first: string, second: string): { what: string; name: string } {
  const at = first.indexOf("/");
  if (at === -1) return { what: first, name: second };
  if (second !== "") throw new AppError("usage", `Give the name only once: ${first} or KIND NAME`);
  return { what: first.slice(0, at), name: first.slice(at + 1) };
}
