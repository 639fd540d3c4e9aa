/**
 * `svc outbox retry`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, MESSAGE, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help: "Sends a message of the outbox that waits, was given up or was dropped, now. If it may " +
    "have arrived, svc looks for it first, on platforms that can be asked.",
  arguments: [MESSAGE],
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc get outbox --state failed", "svc outbox retry latest"],
  async run(context) {
    using client = context.client();
    const message = await client.call("outbox.retry", { id: context.argument(0) });
    const json = context.options.output === "json";
    context.io.out(json ? jsonText(message) : `outbox/${message.id} is sent again\n`);
  },
});
