/**
 * `svc task continue`.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, TASK } from "../command.ts";
import { jsonText } from "../json_text.ts";
import { setValues } from "../set_values.ts";

export const command: Command = defineCommand({
  help:
    "Ends the wait of a step (waitFor) before its time: the step succeeds, and its task goes on. " +
    "Who did it, and why, is in the step's reason, and who did it in the audit. A step that waits for an " +
    "agent goes on when the agent is free.",
  arguments: [TASK, { name: "<step>", help: "id of the step that waits" }],
  options: [
    { flags: "--reason <text>", help: "why; it is kept with the step (required)" },
    { flags: "--set <name=value...>", help: "output of the step; once for each" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc get waits",
    'svc task continue latest pause --reason "the release is out"',
    'svc task continue latest ci --set conclusion=success --reason "CI is down, I ran the tests"',
  ],
  async run(context) {
    const { reason, set = [] } = context.options;
    if (reason === undefined) throw new AppError("usage", 'Say why: --reason "…"');
    using client = context.client();
    const done = await client.call("task.continue", {
      id: context.argument(0),
      step: context.argument(1),
      reason,
      set: setValues(set),
    });
    const json = context.options.output === "json";
    context.io.out(json ? jsonText(done) : `task/${done.id}: step "${done.step}" goes on\n`);
  },
});
