/**
 * `svc token list`.
 *
 * @module
 */

import { type Command, type CommandContext, CONNECTION, OUTPUT } from "../command.ts";
import { type Format, printListing } from "../print.ts";

/** Lists tokens. */
export const command: Command = {
  help: "Lists the tokens of the control plane, newest first. Their text is not stored.",
  options: [OUTPUT, ...CONNECTION],
  examples: ["svc token list"],
  async run(context: CommandContext) {
    using client = context.client();
    const listing = await client.call("get", { what: "tokens", limit: 1_000_000 });
    await printListing(listing, context.option("output") as Format, context.io);
  },
};
