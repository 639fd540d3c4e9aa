/**
 * `svc outbox drop`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, MESSAGE, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help:
    "Drops a message of the outbox that waits, is held or was given up: svc does not send it. A message " +
    "that is being sent at this moment may still arrive, and then counts as sent.",
  arguments: [MESSAGE],
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc get outbox --state pending", "svc outbox drop latest"],
  async run(context) {
    using client = context.client();
    const message = await client.call("outbox.drop", { id: context.argument(0) });
    const json = context.options.output === "json";
    context.io.out(json ? jsonText(message) : `outbox/${message.id} dropped\n`);
  },
});
