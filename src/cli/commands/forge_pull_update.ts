/**
 * `svc github pr update`, `svc gitlab mr update`.
 *
 * @module
 */

import { MAX_TITLE, PULL_OPERATIONS } from "../../base/forge_names.ts";
import { atForges, type ForgeCommands } from "../at_forges.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { BODY, bodyText } from "../body_option.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { pullIds, pullKey, pullSent } from "../pull_request.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const commands: ForgeCommands = atForges((forge, words) => {
  const { pull, pullCommand } = words;
  return defineCommand({
    help: `Changes the title or the text of a ${pull} that a task has opened, and no file in ` +
      "it. Inside a step, the task defaults to its own.",
    arguments: [OWN_TASK],
    options: [
      { flags: "--title <text>", help: `one line, cut at ${MAX_TITLE[forge]} characters` },
      BODY,
      pullKey(words),
      WAIT,
      ...CONNECTION,
      OUTPUT_TEXT_JSON,
    ],
    examples: [
      `svc ${forge} ${pullCommand} update --body @answer.md`,
      `svc ${forge} ${pullCommand} update latest --key fix --title "Fix the login" --wait`,
    ],
    async run(context) {
      const task = taskOf(context);
      const { title, key } = context.options;
      const body = await bodyText(context);
      if (title === undefined && body === undefined) {
        throw new AppError("usage", "Give a title or a text: --title TEXT, --body TEXT");
      }
      const input = { task, ...defined({ title, body, key }) };
      return await reportMessage(context, {
        queue: (client) => client.call(PULL_OPERATIONS[forge].update, input),
        sent: (queued, id) => pullSent(queued, id, words),
        idField: pullIds,
      });
    },
  });
});
