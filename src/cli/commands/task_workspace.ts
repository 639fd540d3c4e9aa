/**
 * `svc task workspace`.
 *
 * @module
 */

import { type Command, type CommandContext, CONNECTION, OUTPUT_TEXT_JSON } from "../command.ts";

/** Prints where a task ran. */
export const command: Command = {
  help: "Prints the directory in which the steps of a task run or ran: the workspace itself, or " +
    "the worktree or copy of this task. Exit 1, with the reason, when it does not exist.",
  arguments: [{ name: "<task>", help: "id of the task, or its beginning" }],
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc task workspace 01K9", 'cd "$(svc task workspace 01K9)"'],
  async run(context: CommandContext) {
    using client = context.client();
    const found = await client.call("task.workspace", { id: context.argument(0) });
    const json = context.option("output") === "json";
    context.io.out(json ? `${JSON.stringify(found, null, 2)}\n` : `${found.path}\n`);
  },
};
