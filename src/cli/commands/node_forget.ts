/**
 * `svc node forget`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help: "Forgets a node that has ended for good: other nodes at once take over the tasks it ran " +
    "and those that only it could run. While its lease is valid it may still run, so svc " +
    "refuses; with --force svc forgets it, and it ends its tasks when it learns of it. Needs " +
    "the role admin.",
  arguments: [{ name: "<node>", help: "name of the node", complete: "node" }],
  options: [
    { flags: "--force", help: "even while its lease is valid: you are certain that it has ended" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: ["svc get nodes", "svc node forget build-2"],
  async run(context) {
    using client = context.client();
    const force = context.options.force;
    const { name } = await client.call("node.forget", { name: context.argument(0), force });
    const json = context.options.output === "json";
    context.io.out(json ? jsonText({ name }) : `node/${name} forgotten\n`);
  },
});
