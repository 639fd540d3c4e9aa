/**
 * `svc task cancel`.
 *
 * @module
 */

import type { Client } from "../../api/client.ts";
import type { CancelResult } from "../../api/task_operations.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  OUTPUT_TEXT_JSON,
  TASK,
} from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";
import { findMatching, forMatching, matchingOptions } from "../matching_tasks.ts";
import { printable } from "../terminal_text.ts";
import { waitForTasks } from "../wait_for_tasks.ts";

const OPTIONS = [
  { flags: "--reason <text>", help: "why; it is kept with the task" },
  { flags: "--no-wait", help: "do not wait until they have ended" },
  ...matchingOptions(["pending", "waiting", "running"]),
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help:
    "Cancels tasks. A pending task ends at once, a waiting one after its finally steps; every process of a running one gets TERM " +
    "and, after 5 seconds, KILL, then its finally steps run. Waits until all have ended. " +
    "Exit 1 when a task had already ended. With filters instead of tasks, all that match and " +
    "have not ended; asks first.",
  arguments: [{ name: "[task...]", help: TASK.help, complete: "task" }],
  options: OPTIONS,
  examples: [
    "svc task cancel latest",
    'svc task cancel latest --reason "wrong branch"',
    "svc task cancel --trigger github-push --state pending --yes",
  ],
  run(context) {
    const { io } = context;
    const json = context.options.output === "json";
    const say = (line: string) => json || io.out(`${line}\n`);
    return interruptible(io, async (signal) => {
      using client = context.client();
      if (context.options.dryRun) return await tryCancel(client, context);
      const tasks = await cancel(client, context, ({ id, result, state }) => {
        if (result === "cancelled") say(`task/${id} cancelled`);
        if (result === "ended") io.err(`task/${id} has already ended: ${state}\n`);
      });
      const stopping = tasks.filter(({ result }) => result === "stopping").map(({ id }) => id);
      const ended = new Map<string, string>();
      if (!context.options.wait) {
        for (const id of stopping) say(`task/${id} is being cancelled`);
      }
      for (let at = 0; context.options.wait && at < stopping.length; at += MAX_WAITED) {
        await waitForTasks(stopping.slice(at, at + MAX_WAITED), {
          client,
          io,
          signal,
          onEnd({ id, state }) {
            ended.set(id, state);
            say(`task/${id} ${state}`);
          },
        });
      }
      const shown = tasks.map((task): CancelResult => {
        const state = ended.get(task.id);
        if (state === undefined) return task;
        return { id: task.id, state, result: state === "cancelled" ? "cancelled" : "ended" };
      });
      if (json) io.out(jsonText(shown));
      return shown.some(({ result }) => result === "ended") ? 1 : 0;
    });
  },
});

/** Tasks that one wait takes. */
const MAX_WAITED = 1000;

/** Cancels the tasks of the command line, and prints a line for each. */
async function cancel(
  client: Client,
  context: Context<typeof OPTIONS>,
  tell: (task: CancelResult) => void,
): Promise<readonly CancelResult[]> {
  const ids = context.arguments(0);
  const matching = findMatching(ids.length > 0, context);
  const reason = context.options.reason;
  const why = reason === undefined ? {} : { reason };
  if (matching === undefined) {
    const { tasks } = await client.call("task.cancel", { ids, ...why });
    for (const task of tasks) tell(task);
    return tasks;
  }
  const results = await forMatching("Cancel", context, {
    stream: (dryRun) =>
      client.stream("task.cancel.matching", { ...matching, ...why, dry_run: dryRun }),
    tell({ task_id: id, state, result, error }) {
      if (error !== undefined) context.io.err(`task/${id} not cancelled: ${printable(error)}\n`);
      if (result !== undefined) tell({ id, state, result });
    },
  });
  return results.map(({ task_id: id, state, result = "ended" }) => ({ id, state, result }));
}

/** Prints which tasks would be cancelled. */
async function tryCancel(client: Client, context: Context<typeof OPTIONS>): Promise<number> {
  const json = context.options.output === "json";
  const matching = findMatching(context.arguments(0).length > 0, context);
  const found = await forMatching("Cancel", context, {
    stream: (dryRun) => client.stream("task.cancel.matching", { ...matching, dry_run: dryRun }),
    tell: ({ task_id: id, state }) => json || context.io.out(`task/${id} ${state}\n`),
  });
  if (json) context.io.out(jsonText(found));
  return 0;
}
