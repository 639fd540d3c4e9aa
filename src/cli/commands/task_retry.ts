/**
 * `svc task retry`.
 *
 * @module
 */

import type { Client } from "../../api/client.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  OUTPUT_TEXT_JSON,
  TASK,
} from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import { jsonText } from "../json_text.ts";
import {
  findMatching,
  forMatching,
  type Matching,
  matchingOptions,
  type MatchingResult,
} from "../matching_tasks.ts";
import { printable } from "../terminal_text.ts";

const OPTIONS = [
  { flags: "--from <step>", help: "run this step again, and all that need it", complete: "step" },
  ...matchingOptions(["failed", "cancelled", "succeeded"]),
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Creates a task that runs what an ended one did not complete, on the same event, and " +
    "prints its id. Steps that succeeded are carried over; with --from, that step and all " +
    "that need it run again too. Steps under finally always run again, and so does every " +
    "step of a task that succeeded. A task that never ran because something was missing runs " +
    "what is applied now. With filters instead of a task, all that match and have not been " +
    "retried yet, the failed ones unless --state says otherwise; asks first. Exit 1 when one " +
    "could not be retried.",
  arguments: [{ name: "[task]", help: TASK.help, complete: "task" }],
  options: OPTIONS,
  examples: [
    "svc task retry latest",
    "svc task retry latest --from deploy",
    'svc task wait "$(svc task retry latest)"',
    "svc task retry --trigger github-push --since 1d",
  ],
  async run(context) {
    const from = context.options.from;
    const id = context.argument(0);
    const json = context.options.output === "json";
    const matching = findMatching(id !== "", context);
    using client = context.client();
    if (matching !== undefined) return await retryAll(matching, client, context);
    const made = await client.call("task.retry", { id, ...defined({ from }) });
    if (made.note !== "") context.io.err(`${made.note}\n`);
    context.io.out(json ? jsonText(made) : `${made.id}\n`);
    return 0;
  },
});

async function retryAll(
  matching: Matching,
  client: Client,
  context: Context<typeof OPTIONS>,
): Promise<number> {
  const { io } = context;
  if (context.options.from !== undefined) {
    throw new AppError("usage", "--from is for one task: leave it out, or name the task");
  }
  const json = context.options.output === "json";
  const results = await forMatching("Retry", context, {
    stream: (dryRun) => client.stream("task.retry.matching", { ...matching, dry_run: dryRun }),
    tell(line) {
      if (line.note !== undefined) io.err(`${line.note}\n`);
      if (!json) io.out(`${describe(line)}\n`);
    },
  });
  if (json) io.out(jsonText(results));
  return results.some(({ error }) => error !== undefined) ? 1 : 0;
}

function describe({ task_id: id, state, new_task_id: made, error }: MatchingResult): string {
  if (error !== undefined) return `task/${id} not retried: ${printable(error)}`;
  return made === undefined ? `task/${id} ${state}` : `task/${id} retried as task/${made}`;
}
