/**
 * `svc token list`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT } from "../command.ts";
import { nothingFound } from "../nothing_found.ts";
import { printListing } from "../print.ts";

export const command: Command = defineCommand({
  help: "Lists the tokens of the control plane, newest first. Their text is not stored.",
  options: [OUTPUT, ...CONNECTION],
  examples: ["svc token list"],
  async run(context) {
    using client = context.client();
    const input = { what: "tokens", limit: 1_000_000 };
    const listing = await client.call("get", input);
    const format = context.options.output;
    await printListing(listing, format, context.io, nothingFound(input));
  },
});
