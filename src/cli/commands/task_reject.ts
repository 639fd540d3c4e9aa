/**
 * `svc task reject`.
 *
 * @module
 */

import { answer, ANSWER_ARGUMENTS, ANSWER_OPTIONS } from "../approval_answer.ts";
import { type Command, defineCommand } from "../command.ts";

export const command: Command = defineCommand({
  help:
    "Rejects what a step asks (approval): one rejection ends the question, and the step fails, " +
    "unless its workflow says otherwise. Who may approve may reject.",
  arguments: ANSWER_ARGUMENTS,
  options: ANSWER_OPTIONS,
  examples: ['svc task reject latest --comment "wrong branch"'],
  run: (context) => answer("rejected", context),
});
