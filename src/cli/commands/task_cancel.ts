/**
 * `svc task cancel`.
 *
 * @module
 */

import type { CancelResult } from "../../api/task_operations.ts";
import {
  type Command,
  type CommandContext,
  CONNECTION,
  OUTPUT_TEXT_JSON,
  TASKS,
} from "../command.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";
import { waitForTasks } from "../wait_for_tasks.ts";

/** Cancels tasks. */
export const command: Command = {
  help: "Cancels tasks. A pending task ends at once; every process of a running one gets TERM " +
    "and, after 5 seconds, KILL, then its finally steps run. Waits until all have ended. " +
    "Exit 1 when a task had already ended.",
  arguments: [TASKS],
  options: [
    { flags: "--reason <text>", help: "why; it is kept with the task" },
    { flags: "--no-wait", help: "do not wait until they have ended" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc task cancel latest",
    'svc task cancel latest --reason "wrong branch"',
    "svc get tasks --state running -o name | xargs svc task cancel",
  ],
  run(context: CommandContext) {
    const { io } = context;
    const reason = context.option("reason");
    const json = context.option("output") === "json";
    const say = (line: string) => json || io.out(`${line}\n`);
    return interruptible(io, async (signal) => {
      using client = context.client();
      const { tasks } = await client.call("task.cancel", {
        ids: context.arguments(0),
        ...(reason === undefined ? {} : { reason }),
      });
      const before = tasks.filter(({ result }) => result === "ended");
      const stopping = tasks.filter(({ result }) => result === "stopping").map(({ id }) => id);
      for (const { id, result } of tasks) if (result === "cancelled") say(`task/${id} cancelled`);
      for (const { id, state } of before) io.err(`task/${id} has already ended: ${state}\n`);
      const ended = new Map<string, string>();
      if (!context.flag("wait")) {
        for (const id of stopping) say(`task/${id} is being cancelled`);
      } else if (stopping.length > 0) {
        await waitForTasks(stopping, {
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
};
