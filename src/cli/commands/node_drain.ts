/**
 * `svc node drain`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help: "Stops a node from taking new tasks: it finishes what it runs, and still takes webhooks, " +
    "whose tasks run on other nodes. It stays drained across restarts, until --undo. Tasks " +
    "that only this node may run wait. Needs the role operator.",
  arguments: [{ name: "<node>", help: "name of the node", complete: "node" }],
  options: [
    { flags: "--undo", help: "let it take tasks again" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: ["svc get nodes --watch", "svc node drain build-2", "svc node drain build-2 --undo"],
  async run(context) {
    using client = context.client();
    const drained = !context.options.undo;
    const result = await client.call("node.drain", { name: context.argument(0), drained });
    const { name, running, any_takes_tasks } = result;
    if (context.options.output === "json") {
      context.io.out(jsonText(result));
    } else if (!drained) {
      context.io.out(`node/${name} takes tasks again\n`);
    } else {
      const left = running === 1 ? "1 task still runs there" : `${running} tasks still run there`;
      context.io.out(`node/${name} drained${running === 0 ? "" : `: ${left}`}\n`);
    }
    if (!any_takes_tasks) context.io.err("warning: no node takes new tasks: they wait\n");
  },
});
