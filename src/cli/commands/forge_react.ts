/**
 * `svc github react`, `svc gitlab react`.
 *
 * @module
 */

import { atForges, type ForgeCommands } from "../at_forges.ts";
import { AppError } from "../../base/errors.ts";
import { REACTIONS } from "../../base/forge_names.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const commands: ForgeCommands = atForges((forge, { pull }) =>
  defineCommand({
    help: `Reacts to the comment, issue, ${pull} or release that a task is about. Inside a step, ` +
      "the task defaults to its own.",
    arguments: [OWN_TASK],
    options: [
      { flags: "--with <reaction>", help: "the reaction", choices: REACTIONS },
      WAIT,
      ...CONNECTION,
      OUTPUT_TEXT_JSON,
    ],
    examples: [`svc ${forge} react --with eyes`, `svc ${forge} react latest --with rocket --wait`],
    async run(context) {
      const task = taskOf(context);
      const content = REACTIONS.find((known) => known === context.options.with);
      if (content === undefined) {
        throw new AppError("usage", `Give the reaction: --with ${REACTIONS.join(", ")}`);
      }
      return await reportMessage(context, {
        queue: (client) => client.call(`${forge}.react`, { task, content }),
        sent: ({ repository }) => `reacted with ${content} in ${repository}`,
        idField: "reaction_id",
      });
    },
  })
);
