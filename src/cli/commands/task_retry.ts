/**
 * `svc task retry`.
 *
 * @module
 */

import {
  type Command,
  type CommandContext,
  CONNECTION,
  OUTPUT_TEXT_JSON,
  TASK,
} from "../command.ts";
import { jsonText } from "../json_text.ts";

/** Runs again what a task did not get done. */
export const command: Command = {
  help: "Creates a task that runs what an ended one did not complete, on the same event, and " +
    "prints its id. Steps that succeeded are carried over; with --from, that step and all " +
    "that need it run again too. Steps under finally always run again, and so does every " +
    "step of a task that succeeded. A task that never ran because something was missing runs " +
    "what is applied now.",
  arguments: [TASK],
  options: [
    { flags: "--from <step>", help: "run this step again, and all that need it", complete: "step" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc task retry latest",
    "svc task retry latest --from deploy",
    'svc task wait "$(svc task retry latest)"',
  ],
  async run(context: CommandContext) {
    const from = context.option("from");
    using client = context.client();
    const made = await client.call("task.retry", {
      id: context.argument(0),
      ...(from === undefined ? {} : { from }),
    });
    if (made.note !== "") context.io.err(`${made.note}\n`);
    const json = context.option("output") === "json";
    context.io.out(json ? jsonText(made) : `${made.id}\n`);
  },
};
