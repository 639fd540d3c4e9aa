/**
 * `svc task approve`.
 *
 * @module
 */

import { answer, ANSWER_ARGUMENTS, ANSWER_OPTIONS, SET_FIELD } from "../approval_answer.ts";
import { type Command, defineCommand } from "../command.ts";

export const command: Command = defineCommand({
  help:
    "Approves what a step asks (approval), as one of those who may: with the token of a Person, " +
    'or through the socket if the question is for "socket". It shows all that is asked and asks ' +
    "for a yes; the answer is to exactly that. No step can do this with its run token.",
  arguments: ANSWER_ARGUMENTS,
  options: [...ANSWER_OPTIONS, SET_FIELD],
  examples: [
    "svc get approvals",
    "svc task approve latest",
    "svc task approve 01KB4Q ok --set where=eu --digest 7f3a91c2 --yes",
  ],
  run: (context) => answer("approved", context, context.options.set),
});
