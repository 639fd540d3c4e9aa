/**
 * `svc line push`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { ANSWER_TEXT, answerText, OWN_TASK, taskOf } from "../own_task.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const command: Command = defineCommand({
  help: "Pushes a text to the LINE user, group or room that a task's event came from, with the " +
    "channel access token of the Connection. Pushes count against the quota of the channel. " +
    "Inside a step, the task defaults to its own.",
  arguments: [OWN_TASK],
  options: [ANSWER_TEXT, WAIT, ...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ['svc line push --text "Deployed."', "./report.sh | svc line push latest --text -"],
  async run(context) {
    const task = taskOf(context);
    const text = await answerText(context);
    return await reportMessage(context, {
      queue: (client) => client.call("line.push", { task, text }),
      sent: ({ to }) => `pushed to ${to}`,
      idField: "message_id",
    });
  },
});
