/**
 * `svc task wait`.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, TASKS } from "../command.ts";
import { duration } from "../option.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";
import { type EndedTask, waitForTasks } from "../wait_for_tasks.ts";

/** How long to wait: in seconds, and as it was written, which the message repeats. */
const TIMEOUT = duration((secs, text) => ({ secs, text }));

export const command: Command = defineCommand({
  help: "Waits until tasks have ended and prints the state of each. Exit 0 if all succeeded, " +
    "else 1. On a timeout, it exits 1 and prints how far the others are and what they wait for.",
  arguments: [TASKS],
  options: [
    {
      flags: "--timeout <duration>",
      value: TIMEOUT,
      help: "longest time to wait, such as 10m (default: no limit)",
    },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc task wait latest",
    "svc get tasks --state running -o name | xargs svc task wait --timeout 10m",
  ],
  run(context) {
    const { io } = context;
    const { timeout } = context.options;
    const json = context.options.output === "json";
    const ended: EndedTask[] = [];
    return interruptible(io, async (signal) => {
      using client = context.client();
      const late = await waitForTasks(context.arguments(0), {
        client,
        io,
        signal,
        ...defined({ timeoutSecs: timeout?.secs }),
        onEnd(task) {
          ended.push(task);
          if (!json) io.out(`${describeEnd(task)}\n`);
        },
      });
      if (json) io.out(jsonText([...ended, ...late]));
      if (late.length > 0) {
        const [first, ...more] = late.map(describeEnd);
        const lines = more.length === 0 ? ` ${first}` : ["", first, ...more].join("\n  ");
        io.err(`Timed out after ${timeout?.text}:${lines}\n`);
      }
      return late.length === 0 && ended.every(({ state }) => state === "succeeded") ? 0 : 1;
    });
  },
});

/** How a task ended, or for what it waits, in one line. */
function describeEnd({ id, state, reason }: Pick<EndedTask, "id" | "state" | "reason">): string {
  return `task/${id} ${state}${reason === "" ? "" : `: ${printable(reason)}`}`;
}
