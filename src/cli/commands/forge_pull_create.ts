/**
 * `svc github pr create`, `svc gitlab mr create`.
 *
 * @module
 */

import { MAX_TITLE, PULL_OPERATIONS } from "../../base/forge_names.ts";
import { atForges, type ForgeCommands } from "../at_forges.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { BODY, bodyText } from "../body_option.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { CHANGE, changeText, readChange } from "../handed_change.ts";
import { interruptible } from "../interrupt.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { pullIds, pullKey, pullSent } from "../pull_request.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const commands: ForgeCommands = atForges((forge, words) => {
  const { pull, pullCommand } = words;
  return defineCommand({
    help: `Opens a ${pull} with the change in the current working tree, or renews the one of its ` +
      "key: branch, title and text. The daemon checks the change, makes one commit of it and " +
      `sends it; the workflow says in may.${forge}.pull what it may have. What the index or a branch ` +
      "has is not touched. The body is Markdown; mentions, remote content and bot commands in " +
      "it have no effect. Inside a step, the task defaults to its own.",
    arguments: [OWN_TASK],
    options: [
      { flags: "--title <text>", help: `one line, cut at ${MAX_TITLE[forge]} characters` },
      BODY,
      pullKey(words),
      { flags: "--base <branch>", help: "branch to merge into (default: that of the repository)" },
      { flags: "--label <label...>", help: "label that the repository has" },
      ...CHANGE,
      WAIT,
      ...CONNECTION,
      OUTPUT_TEXT_JSON,
    ],
    examples: [
      `svc ${forge} ${pullCommand} create --all --title "Fix the login" --body @answer.md`,
      `svc ${forge} ${pullCommand} create latest --title Upgrade --commit HEAD~1 --onto origin/main --wait`,
    ],
    async run(context) {
      const task = taskOf(context);
      const { title, key, base, label: labels } = context.options;
      if (title === undefined) throw new AppError("usage", "Give the title: --title TEXT");
      const body = await bodyText(context);
      return await interruptible(context.io, (signal) =>
        reportMessage(context, {
          async queue(client) {
            const purpose = { task, forge, output: "pull", key } as const;
            await using change = await readChange(context, { client, signal, purpose });
            const given = { ...change.input, title, labels, ...defined({ body, key, base }) };
            return await client.callWith(PULL_OPERATIONS[forge].create, given, change.sending);
          },
          queued: changeText,
          sent: (queued, id) => pullSent(queued, id, words),
          idField: pullIds,
        }));
    },
  });
});
