/**
 * Prints the result of connecting a chat platform, for people and for programs.
 *
 * @module
 */

import type { Connected } from "../api/connection_operations.ts";
import type { Context, OUTPUT_TEXT_JSON } from "./command.ts";
import { jsonText } from "./json_text.ts";

/**
 * Prints the created resources, and whether events arrive.
 *
 * @param next What to do now to see the first one.
 * @returns The exit code.
 */
export function printConnected(
  connected: Connected,
  next: string,
  context: Context<[typeof OUTPUT_TEXT_JSON]>,
): number {
  const { name, to, resources, hooks, check } = connected;
  const isOk = check?.ok !== false;
  if (context.options.output === "json") {
    context.io.out(jsonText(connected));
    return isOk ? 0 : 1;
  }
  const changed = resources.filter(({ action }) => action !== "unchanged");
  for (const { name, action } of changed) context.io.out(`${name} ${action}\n`);
  const isNew = changed.length > 0 || hooks.some(({ action }) => action !== "unchanged");
  const end = !isOk
    ? `is made, but its events do not arrive: ${check?.message}. Then run this command again`
    : `${to} is connected${isNew ? `: ${next}` : ", nothing had to be changed"}`;
  context.io.out(`connection/${name}: ${end}\n`);
  return isOk ? 0 : 1;
}
