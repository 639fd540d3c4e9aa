/**
 * `svc outbox send`.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { type Command, CONNECTION, defineCommand, MESSAGE, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help:
    "Sends a message of the outbox that is held for a person, as it is; svc outbox show ID --diff " +
    "shows it. A newer message of its key drops it, so that nobody sends by an ID what he has not " +
    "seen; latest is refused for the same reason.",
  arguments: [{ ...MESSAGE, help: "id or a part of it; also as outbox/ID" }],
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc get outbox --state held", "svc outbox send 01KB4Q"],
  async run(context) {
    const id = context.argument(0);
    if (/^(outbox\/)?latest$/.test(id)) {
      throw new AppError("usage", "Give the ID of the message that you have looked at, not latest");
    }
    using client = context.client();
    const message = await client.call("outbox.send", { id });
    const json = context.options.output === "json";
    context.io.out(json ? jsonText(message) : `outbox/${message.id} is sent\n`);
  },
});
