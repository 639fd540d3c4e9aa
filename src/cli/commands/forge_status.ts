/**
 * `svc github status`, `svc gitlab status`.
 *
 * @module
 */

import { atForges, type ForgeCommands } from "../at_forges.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { STATUS_STATES } from "../../base/forge_names.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const commands: ForgeCommands = atForges((forge, { pull }) =>
  defineCommand({
    help: "Sets a status on the commit that a task is about: the newest of a push, the head of a " +
      `${pull}. You can name another commit of the same push or ${pull}. Inside a ` +
      "step, the task defaults to its own.",
    arguments: [OWN_TASK],
    options: [
      { flags: "--state <state>", help: "state to set", choices: STATUS_STATES },
      { flags: "--context <name>", help: "name of the status, such as svc/review" },
      { flags: "--description <text>", help: "one line, cut at 140 characters" },
      { flags: "--sha <commit>", help: `whole id of a commit of the push or ${pull}` },
      WAIT,
      ...CONNECTION,
      OUTPUT_TEXT_JSON,
    ],
    examples: [
      `svc ${forge} status --state pending --context svc/lint`,
      `svc ${forge} status latest --state failure --context svc/lint --description "3 findings"`,
    ],
    async run(context) {
      const task = taskOf(context);
      const state = STATUS_STATES.find((known) => known === context.options.state);
      const name = context.options.context ?? "";
      if (state === undefined) {
        throw new AppError("usage", `Give --state: ${STATUS_STATES.join(", ")}`);
      }
      if (name === "") {
        throw new AppError("usage", "Give the name of the status: --context NAME");
      }
      const description = context.options.description;
      const sha = context.options.sha;
      const input = {
        task,
        state,
        context: name,
        ...defined({ description, sha }),
      };
      return await reportMessage(context, {
        queue: (client) => client.call(`${forge}.status`, input),
        sent: ({ repository }) => `${name} is ${state} in ${repository}`,
        idField: "sha",
      });
    },
  })
);
