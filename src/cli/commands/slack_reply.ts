/**
 * `svc slack reply`: answers in the thread from which a task came.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { ANSWER_TEXT, answerText, OWN_TASK, taskOf } from "../own_task.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const command: Command = defineCommand({
  help: "Posts a text to the Slack thread a task came from. The text is posted as plain text: " +
    "no markup, no mentions. The bot is that of the Connection to Slack (svc connect slack), " +
    "or the trigger's own (event.webhook.slack.botToken). Inside a step, the task defaults to " +
    "its own. It returns once the text is in the outbox, from which the daemon sends it, even " +
    "after a restart; --wait waits until it is sent.",
  arguments: [OWN_TASK],
  options: [
    ANSWER_TEXT,
    WAIT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    'svc slack reply --text "Which environment?"',
    'svc slack reply latest --text "Done" --wait',
    "./report.sh | svc slack reply latest --text -",
  ],
  async run(context) {
    const task = taskOf(context);
    const text = await answerText(context);
    return await reportMessage(context, {
      queue: (client) => client.call("slack.reply", { task, text }),
      sent: ({ channel }) => `posted to ${channel}`,
      idField: "ts",
    });
  },
});
