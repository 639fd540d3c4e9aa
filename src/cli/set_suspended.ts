/**
 * What `svc trigger suspend` and `svc trigger resume` have in common.
 *
 * @module
 */

import { type CommandContext, CONNECTION, OUTPUT_TEXT_JSON, PROJECT, TRIGGER } from "./command.ts";
import { jsonText } from "./json_text.ts";

/** Arguments and options of both commands. */
export const PARAMETERS = {
  arguments: [TRIGGER],
  options: [PROJECT, ...CONNECTION, OUTPUT_TEXT_JSON],
};

/** Changes a trigger, and says so also when it was so before: the wish is fulfilled. */
export async function setSuspended(
  context: CommandContext,
  operation: "trigger.suspend" | "trigger.resume",
): Promise<void> {
  using client = context.client();
  const input = { name: context.argument(0), ...context.project() };
  const result = await client.call(operation, input);
  const state = operation === "trigger.suspend" ? "suspended" : "resumed";
  context.io.out(
    context.option("output") === "json" ? jsonText(result) : `${result.name} ${state}\n`,
  );
}
