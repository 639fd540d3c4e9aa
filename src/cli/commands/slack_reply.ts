/**
 * `svc slack reply`: what a step uses to answer in the thread it came from.
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import {
  type Command,
  type CommandContext,
  CONNECTION,
  OUTPUT_TEXT_JSON,
  TASK,
} from "../command.ts";
import { readFile } from "../read_file.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

/** Posts a text to the thread of a task. */
export const command: Command = {
  help: "Posts a text to the Slack thread a task came from. The text is posted as plain text: no " +
    "markup, no mentions. The trigger needs a bot token (event.webhook.slack.botToken). " +
    "Inside a step, the task defaults to its own. It is done once the text is in the outbox, " +
    "from where the daemon sends it, also after a stop; --wait waits for that.",
  arguments: [{ name: "[task]", help: `${TASK.help} (default: $SVC_TASK_ID)`, complete: "task" }],
  options: [
    { flags: "--text <text>", help: "the text; - for standard input" },
    WAIT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    'svc slack reply --text "Which environment?"',
    'svc slack reply latest --text "Done" --wait',
    "./report.sh | svc slack reply latest --text -",
  ],
  async run(context: CommandContext) {
    const task = context.argument(0) || context.io.env("SVC_TASK_ID") || "";
    if (task === "") throw new AppError("usage", "Name the task, or run this inside a step");
    const given = context.option("text");
    if (given === undefined) throw new AppError("usage", "Give the text: --text TEXT, or --text -");
    const text = given === "-" ? findText(await readFile("-", context.io)) : given;
    if (text === undefined) throw new AppError("invalid", "The text is not UTF-8");
    using client = context.client();
    const queued = await client.call("slack.reply", { task, text });
    const report = { sent: `posted to ${queued.channel}`, idField: "ts" };
    return await reportMessage(context, client, queued, report);
  },
};
