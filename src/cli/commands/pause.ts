/**
 * `svc pause`.
 *
 * @module
 */

import { resumeCommand } from "../../api/pause_text.ts";
import { systemClock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";
import { DURATION } from "../option.ts";
import { printable } from "../terminal_text.ts";

/** Time between two questions about what still runs. */
const ASK_AGAIN_MS = 1000;

export const command: Command = defineCommand({
  help: "Stops tasks from starting, on every node: events are stored and answered as ever, and " +
    "their tasks wait. What runs goes on; --wait returns when it has ended. A pause lasts until " +
    "svc resume, also across restarts, or as long as --for says. Needs the role operator.",
  options: [
    {
      flags: "-p, --project <name>",
      help: "pause only the tasks of this project (default: those of all)",
      complete: "project",
    },
    {
      flags: "--for <duration>",
      value: DURATION,
      help: "end by itself after this time, 30d at most",
    },
    { flags: "--reason <text>", help: "why; it is shown wherever the pause is (required)" },
    { flags: "--wait", help: "return when no task runs any more" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    'svc pause --reason "upgrade to 0.4" --wait',
    'svc pause --project shop --for 2h --reason "the shop moves"',
  ],
  run(context) {
    const { io } = context;
    const { project, for: forSecs, reason, wait, output } = context.options;
    if (reason === undefined) throw new AppError("usage", 'Say why: --reason "…"');
    return interruptible(io, async (signal) => {
      using client = context.client();
      const input = { reason, ...defined({ project, for_secs: forSecs }) };
      const { running: atFirst, ...pause } = await client.call("pause", input);
      const count = async () => (await client.call("pause.running", defined({ project }))).running;
      if (wait && atFirst > 0 && output === "text") io.err(`${runningText(atFirst)}: waiting …\n`);
      let running = atFirst;
      while (wait && running > 0 && !signal.aborted) {
        await systemClock.pause(ASK_AGAIN_MS, signal);
        running = await count();
      }
      if (output === "json") {
        io.out(jsonText({ ...pause, running }));
        return;
      }
      const what = pause.project === null
        ? "tasks"
        : `tasks of project ${printable(pause.project)}`;
      const end = pause.until === null ? "" : ` until ${pause.until}`;
      const left = running === 0 ? "none runs" : runningText(running);
      io.out(`${what} paused${end}: ${left}. To go on: ${resumeCommand(pause.project)}\n`);
    });
  },
});

function runningText(running: number): string {
  return running === 1 ? "1 task still runs" : `${running} tasks still run`;
}
