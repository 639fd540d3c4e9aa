/**
 * `svc source replay`.
 *
 * @module
 */

import {
  type Command,
  CONNECTION,
  defineCommand,
  OUTPUT_TEXT_JSON,
  SOURCE_EVENT,
} from "../command.ts";

export const command: Command = defineCommand({
  help: "Routes a chat event again that was ignored, failed or needs attention. An event that " +
    "was routed never starts a second task: retry its task instead.",
  arguments: [SOURCE_EVENT],
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc get source-events --state needs_attention", "svc source replay latest"],
  async run(context) {
    using client = context.client();
    const { id } = await client.call("source.replay", { id: context.argument(0) });
    context.io.out(
      context.options.output === "json"
        ? `${JSON.stringify({ id })}\n`
        : `source-event/${id} is routed again\n`,
    );
  },
});
