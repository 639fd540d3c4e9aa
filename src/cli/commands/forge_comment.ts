/**
 * `svc github comment`, `svc gitlab comment`.
 *
 * @module
 */

import { atForges, type ForgeCommands } from "../at_forges.ts";
import { defined } from "../../base/defined.ts";
import { COMMENT_FORMATS } from "../../base/forge_names.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { ANSWER_TEXT, answerText, OWN_TASK, taskOf } from "../own_task.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const commands: ForgeCommands = atForges((forge, { pull }) =>
  defineCommand({
    help: `Comments on the issue or ${pull} that a task is about; a later comment with the same ` +
      "key updates it. The text is Markdown; mentions, remote content and bot commands in it " +
      "have no effect. The daemon sends it, with the token of the Connection that covers the " +
      "repository. Inside a step, the task defaults to its own.",
    arguments: [OWN_TASK],
    options: [
      ANSWER_TEXT,
      { flags: "--key <key>", help: "name of the comment (default: the name of the trigger)" },
      {
        flags: "--format <format>",
        help: "how the text is read; text shows it as it is",
        choices: COMMENT_FORMATS,
        fallback: "markdown",
      },
      WAIT,
      ...CONNECTION,
      OUTPUT_TEXT_JSON,
    ],
    examples: [
      `svc ${forge} comment --text "Reviewed: **two** findings"`,
      `./review.sh | svc ${forge} comment latest --text - --key review --wait`,
    ],
    async run(context) {
      const task = taskOf(context);
      const text = await answerText(context);
      const key = context.options.key;
      const format = context.options.format === "text" ? "text" : "markdown";
      const input = { task, text, format, ...defined({ key }) } as const;
      return await reportMessage(context, {
        queue: (client) => client.call(`${forge}.comment`, input),
        sent: ({ reference }) => `commented on ${reference}`,
        idField: "comment_id",
      });
    },
  })
);
