/**
 * Prints the result of an apply, for `svc apply` and the commands like it.
 *
 * @module
 */

import type { Output } from "../api/operations.ts";
import type { Context, OUTPUT_TEXT_JSON } from "./command.ts";
import { jsonText } from "./json_text.ts";

/** Prints the result; returns the exit code, which is 1 if a hook failed. */
export function printApplied(
  applied: Output<"apply">,
  context: Context<[typeof OUTPUT_TEXT_JSON]>,
  suffix = "",
): number {
  const { results, warnings, hook_failures: failures, against } = applied;
  const { io } = context;
  for (const warning of warnings) io.err(`warning: ${warning}\n`);
  for (const failure of failures) io.err(`hook failed: ${failure}\n`);
  if (context.options.output === "json") {
    const shown = against === undefined ? results : { results, against };
    io.out(jsonText(shown));
  } else {
    for (const { name, action } of results) io.out(`${name} ${action}${suffix}\n`);
  }
  return failures.length === 0 ? 0 : 1;
}
