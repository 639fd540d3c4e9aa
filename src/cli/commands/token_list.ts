/**
 * `svc token list`.
 *
 * @module
 */

import { type Command, type CommandContext, CONNECTION, OUTPUT } from "../command.ts";
import { nothingFound } from "../nothing_found.ts";
import { type Format, printListing } from "../print.ts";

/** Lists tokens. */
export const command: Command = {
  help: "Lists the tokens of the control plane, newest first. Their text is not stored.",
  options: [OUTPUT, ...CONNECTION],
  examples: ["svc token list"],
  async run(context: CommandContext) {
    using client = context.client();
    const input = { what: "tokens", limit: 1_000_000 };
    const listing = await client.call("get", input);
    const format = context.option("output") as Format;
    await printListing(listing, format, context.io, nothingFound(input));
  },
};
