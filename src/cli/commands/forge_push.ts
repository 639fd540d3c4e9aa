/**
 * `svc github push`, `svc gitlab push`.
 *
 * @module
 */

import { atForges, type ForgeCommands } from "../at_forges.ts";
import { defined } from "../../base/defined.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { CHANGE, changeText, readChange } from "../handed_change.ts";
import { interruptible } from "../interrupt.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const commands: ForgeCommands = atForges((forge, { pull }) =>
  defineCommand({
    help: `Puts one more commit, with the change in the current working tree, onto the ${pull} ` +
      `that a task is about. The change has to begin at the newest commit of that ${pull}: ` +
      `name it with --onto where the worktree began elsewhere. The commit that svc makes stays in the ` +
      `repository, on no branch, so that the next push can begin at it. The workflow says in may.${forge}.push ` +
      "what it may have. Inside a step, the task defaults to its own.",
    arguments: [OWN_TASK],
    options: [
      { flags: "--message <text>", help: "message of the commit" },
      ...CHANGE,
      WAIT,
      ...CONNECTION,
      OUTPUT_TEXT_JSON,
    ],
    examples: [
      `svc ${forge} push --all --message "Rename as asked"`,
      `svc ${forge} push latest --commit HEAD --onto origin/svc/fix-42 --wait`,
    ],
    async run(context) {
      const task = taskOf(context);
      const { message } = context.options;
      return await interruptible(context.io, (signal) =>
        reportMessage(context, {
          async queue(client) {
            const purpose = { task, forge, output: "push" } as const;
            await using change = await readChange(context, { client, signal, purpose });
            const given = { ...change.input, ...defined({ message }) };
            const { commit_object: object, ...queued } = await client.callWith(
              `${forge}.push`,
              given,
              change.sending,
            );
            await change.keep({ commit: queued.sha, object });
            return queued;
          },
          queued: changeText,
          sent: ({ repository, branch, sha }) => `pushed ${sha} to ${branch} of ${repository}`,
          idField: "commit",
        }));
    },
  })
);
