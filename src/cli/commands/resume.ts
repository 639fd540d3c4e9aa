/**
 * `svc resume`.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help:
    "Ends a pause (svc pause): the tasks that came meanwhile start, the oldest first. Needs the " +
    "role operator.",
  options: [
    {
      flags: "-p, --project <name>",
      help: "end the pause of this project (default: that of all tasks)",
      complete: "project",
    },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: ["svc resume", "svc resume --project shop"],
  async run(context) {
    using client = context.client();
    const ended = await client.call("resume", defined({ project: context.options.project }));
    const what = ended.project === null ? "tasks" : `tasks of project ${printable(ended.project)}`;
    context.io.out(
      context.options.output === "json"
        ? jsonText(ended)
        : `${what} start again; paused since ${ended.since}, by ${printable(ended.by)}: ` +
          `${printable(ended.reason)}\n`,
    );
  },
});
