/**
 * `svc get` (spec 1.7, contract 6).
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { type Command, type CommandContext, CONNECTION, OUTPUT, PROJECT } from "./command.ts";
import { type Format, printListing, printValue } from "./print.ts";

/** Lists things. */
export const command: Command = {
  help: "Lists resources (triggers, workflows, workspaces, secretstores, projects) and records " +
    "(tasks, deliveries), records newest first. KIND may be singular, plural or a short name.",
  arguments: [
    { name: "<kind>", help: "what to list, or KIND/NAME for one" },
    { name: "[name]", help: "name of one, or the beginning of an id" },
  ],
  options: [
    PROJECT,
    { flags: "-l, --selector <labels>", help: "only resources with these labels: k=v,k2=v2" },
    { flags: "--trigger <name>", help: "only records of this trigger" },
    {
      flags: "--outcome <outcome>",
      help:
        "only deliveries that ended so: accepted, filtered, duplicate, skipped, rejected, failed …",
    },
    { flags: "--since <duration>", help: "only records of this span, such as 1h or 7d" },
    { flags: "--limit <n>", help: "at most this many (records: 50 unless given)" },
    OUTPUT,
    ...CONNECTION,
  ],
  examples: [
    "svc get task",
    "svc get task 01K9 -o json",
    "svc get triggers -o wide",
    "svc get deliveries --trigger github-push --outcome rejected --since 1d",
  ],
  async run(context: CommandContext) {
    const { what, name } = splitKindAndName(context.argument(0), context.argument(1));
    const limit = context.count("limit", 1);
    const [trigger, selector] = [context.option("trigger"), context.option("selector")];
    const [outcome, since] = [context.option("outcome"), context.duration("since")];
    using client = context.client();
    const listing = await client.call("get", {
      what,
      ...(name === "" ? {} : { name }),
      ...context.project(),
      ...(trigger === undefined ? {} : { trigger }),
      ...(selector === undefined ? {} : { selector }),
      ...(outcome === undefined ? {} : { outcome }),
      ...(since === undefined ? {} : { since_secs: since }),
      ...(limit === undefined ? {} : { limit }),
    });
    const format = context.option("output") as Format;
    const [one] = listing.items;
    if (name !== "" && (format === "json" || format === "yaml")) {
      return await printValue(one, format, context.io);
    }
    await printListing(listing, format, context.io);
  },
};

/**
 * `KIND/NAME` or `KIND NAME`.
 *
 * @throws {AppError} `usage` when a name is given twice.
 */
export function splitKindAndName(first: string, second: string): { what: string; name: string } {
  const at = first.indexOf("/");
  if (at === -1) return { what: first, name: second };
  if (second !== "") throw new AppError("usage", `Give the name once: ${first} or KIND NAME`);
  return { what: first.slice(0, at), name: first.slice(at + 1) };
}
