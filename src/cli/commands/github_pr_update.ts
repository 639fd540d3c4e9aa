/**
 * `svc github pr update`.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { BODY, bodyText } from "../body_option.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { PULL_KEY, pullIds, pullSent } from "../pull_request.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const command: Command = defineCommand({
  help: "Changes the title or the text of a pull request that a task has opened, and no file in " +
    "it. Inside a step, the task defaults to its own.",
  arguments: [OWN_TASK],
  options: [
    { flags: "--title <text>", help: "one line, cut at 256 characters" },
    BODY,
    PULL_KEY,
    WAIT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc github pr update --body @answer.md",
    'svc github pr update latest --key fix --title "Fix the login" --wait',
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
      queue: (client) => client.call("github.pr_update", input),
      sent: (queued, id) => pullSent(queued, id),
      idField: pullIds,
    });
  },
});
