/**
 * The work of `svc trigger suspend` and `svc trigger resume`.
 *
 * @module
 */

import { CONNECTION, type Context, OUTPUT_TEXT_JSON, PROJECT, TRIGGER } from "./command.ts";
import { jsonText } from "./json_text.ts";

/** Arguments and options of both commands. */
export const PARAMETERS = {
  arguments: [TRIGGER],
  options: [PROJECT, ...CONNECTION, OUTPUT_TEXT_JSON],
} as const;

/** Suspends or resumes a trigger; one that has the state already counts as success. */
export async function setSuspended(
  context: Context<typeof PARAMETERS.options>,
  operation: "trigger.suspend" | "trigger.resume",
): Promise<void> {
  using client = context.client();
  const input = { name: context.argument(0), ...context.project() };
  const result = await client.call(operation, input);
  const state = operation === "trigger.suspend" ? "suspended" : "resumed";
  context.io.out(
    context.options.output === "json" ? jsonText(result) : `${result.name} ${state}\n`,
  );
}
