/**
 * `svc github status`.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

const STATES = ["pending", "success", "failure", "error"] as const;

export const command: Command = defineCommand({
  help: "Sets a status on the commit that a task is about: the newest of a push, the head of a " +
    "pull request. You can name another commit of the same push or pull request. Inside a " +
    "step, the task defaults to its own.",
  arguments: [OWN_TASK],
  options: [
    { flags: "--state <state>", help: "state to set", choices: STATES },
    { flags: "--context <name>", help: "name of the status, such as svc/review" },
    { flags: "--description <text>", help: "one line, cut at 140 characters" },
    { flags: "--sha <commit>", help: "whole id of a commit of the push or pull request" },
    WAIT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc github status --state pending --context svc/lint",
    'svc github status latest --state failure --context svc/lint --description "3 findings"',
  ],
  async run(context) {
    const task = taskOf(context);
    const state = STATES.find((known) => known === context.options.state);
    const name = context.options.context ?? "";
    if (state === undefined) throw new AppError("usage", `Give --state: ${STATES.join(", ")}`);
    if (name === "") throw new AppError("usage", "Give the name of the status: --context NAME");
    const description = context.options.description;
    const sha = context.options.sha;
    const input = {
      task,
      state,
      context: name,
      ...defined({ description, sha }),
    };
    return await reportMessage(context, {
      queue: (client) => client.call("github.status", input),
      sent: ({ repository }) => `${name} is ${state} in ${repository}`,
      idField: "sha",
    });
  },
});
