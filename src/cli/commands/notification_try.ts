/**
 * `svc notification test`.
 *
 * @module
 */

import type { Client } from "../../api/client.ts";
import type { TestMessage } from "../../api/notification_operations.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, PROJECT } from "../command.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help:
    "Sends a message to each target of a Notification, and reports each result. A message that " +
    "fails at the first try is dropped. Exit 0 if all were sent, else 1.",
  arguments: [{
    name: "<notification>",
    help: "name of the Notification",
    complete: "notification",
  }],
  options: [PROJECT, ...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc notification test me", "svc notification test me -o json"],
  async run(context) {
    const { io } = context;
    using client = context.client();
    const input = { name: context.argument(0), ...context.project() };
    return await interruptible(io, async (signal) => {
      const { messages } = await client.call("notification.test", input);
      const results = await Promise.all(messages.map((one) => resultOf(client, one, signal)));
      io.out(
        context.options.output === "json"
          ? jsonText({ results })
          : results.map((one) => `${one.target}: ${printable(textOf(one))}\n`).join(""),
      );
      return results.every(({ sent }) => sent) ? 0 : 1;
    });
  },
});

interface Result extends TestMessage {
  readonly sent: boolean;
  /** Why the message was not sent; empty if it was. */
  readonly reason: string;
}

function textOf({ sent, reason }: Result): string {
  return sent ? "sent" : `not sent: ${reason}`;
}

/** Waits for the result of the first try. */
async function resultOf(
  client: Client,
  message: TestMessage,
  signal: AbortSignal,
): Promise<Result> {
  const { target, outbox_id } = message;
  for await (const status of client.stream("outbox.wait", { id: outbox_id }, signal)) {
    const { state, reason } = status;
    if (state === "sent") return { target, outbox_id, sent: true, reason: "" };
    if (state === "pending" && reason === "") continue; // not yet tried
    if (state === "pending") await client.call("outbox.drop", { id: outbox_id });
    return { target, outbox_id, sent: false, reason };
  }
  return { target, outbox_id, sent: false, reason: "the daemon is stopping" };
}
