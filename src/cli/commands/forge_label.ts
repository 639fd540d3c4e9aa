/**
 * `svc github label`, `svc gitlab label`.
 *
 * @module
 */

import { atForges, type ForgeCommands } from "../at_forges.ts";
import { AppError } from "../../base/errors.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const commands: ForgeCommands = atForges((forge, { pull }) =>
  defineCommand({
    help: `Adds labels to the issue or ${pull} that a task is about, and removes others. The ` +
      `workflow allows them in may.${forge}.label, and the repository must have those to add. ` +
      "Inside a step, the task defaults to its own.",
    arguments: [OWN_TASK],
    options: [
      { flags: "--add <label...>", help: "label to add" },
      { flags: "--remove <label...>", help: "label to remove" },
      WAIT,
      ...CONNECTION,
      OUTPUT_TEXT_JSON,
    ],
    examples: [
      `svc ${forge} label --add bug --remove triage`,
      `svc ${forge} label latest --add area/cli --wait`,
    ],
    async run(context) {
      const task = taskOf(context);
      const { add, remove } = context.options;
      if (add.length + remove.length === 0) {
        throw new AppError("usage", "Give the labels: --add LABEL, --remove LABEL");
      }
      return await reportMessage(context, {
        queue: (client) => client.call(`${forge}.label`, { task, add, remove }),
        sent: ({ reference }) => `labelled ${reference}`,
        idField: "label_id",
      });
    },
  })
);
