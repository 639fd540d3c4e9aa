/**
 * `svc task workspace`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, TASK } from "../command.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help: "Prints the directory in which the steps of a task run or ran: the workspace itself, " +
    "or the worktree or copy of this task. If it does not exist, prints why and where its " +
    "commits are, and exits 1. --clean removes what is kept for a task that has ended: its " +
    "worktree or copy, its branch and its commits, but never the workspace itself.",
  arguments: [TASK],
  options: [
    ...CONNECTION,
    { flags: "--clean", help: "remove the worktree or copy of the task, and commits kept for it" },
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc task workspace latest",
    'cd "$(svc task workspace latest)"',
    "svc task workspace latest --clean",
  ],
  async run(context) {
    using client = context.client();
    const json = context.options.output === "json";
    const id = context.argument(0);
    if (context.options.clean) {
      const cleaned = await client.call("task.workspace.clean", { id });
      if (json) return context.io.out(jsonText(cleaned));
      for (const what of cleaned.removed) context.io.out(`removed ${what}\n`);
      if (cleaned.removed.length === 0) context.io.out("nothing is kept for this task\n");
      return;
    }
    const found = await client.call("task.workspace", { id });
    context.io.out(json ? jsonText(found) : `${found.path}\n`);
  },
});
