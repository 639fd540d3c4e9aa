/**
 * `svc node forget`.
 *
 * @module
 */

import { type Command, type CommandContext, CONNECTION, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";

/** Forgets a node. */
export const command: Command = {
  help:
    "Forgets a node that has ended for good: others take over at once what it ran and what only " +
    "it was to run. One whose lease holds may live and is refused; with --force it is forgotten, " +
    "and ends its tasks when it hears of it. Needs the role admin.",
  arguments: [{ name: "<node>", help: "its name", complete: "node" }],
  options: [
    { flags: "--force", help: "although its lease holds: it is certain that it has ended" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: ["svc get nodes", "svc node forget build-2"],
  async run(context: CommandContext) {
    using client = context.client();
    const force = context.flag("force");
    const { name } = await client.call("node.forget", { name: context.argument(0), force });
    const json = context.option("output") === "json";
    context.io.out(json ? jsonText({ name }) : `node/${name} forgotten\n`);
  },
};
