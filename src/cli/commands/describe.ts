/**
 * `svc describe`.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { type Command, type CommandContext, CONNECTION, PROJECT } from "../command.ts";
import { splitKindAndName } from "./get.ts";
import { printValue } from "../print.ts";

/** Shows one thing. */
export const command: Command = {
  help: "Shows everything about one resource or record. Secret values are shown with -o json and " +
    "-o yaml, to callers who may read them, and masked otherwise.",
  arguments: [
    { name: "<kind>", help: "KIND/NAME, or KIND followed by a name" },
    { name: "[name]", help: "name; of a record, its id or a part of it, or latest" },
  ],
  options: [
    PROJECT,
    {
      flags: "-o, --output <format>",
      help: "how to print",
      choices: ["text", "json", "yaml"],
      fallback: "text",
    },
    ...CONNECTION,
  ],
  examples: ["svc describe trigger/github-push", "svc describe secretstore/github -o json"],
  async run(context: CommandContext) {
    const { what, name } = splitKindAndName(context.argument(0), context.argument(1));
    if (name === "") throw new AppError("usage", "Name one: svc describe KIND/NAME");
    const output = context.option("output");
    using client = context.client();
    const input = { what, name, ...context.project(), reveal: output !== "text" };
    const found = await client.call("describe", input);
    await printValue(found, output === "json" ? "json" : "yaml", context.io);
  },
};
