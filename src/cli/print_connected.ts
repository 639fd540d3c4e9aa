/**
 * Prints the result of connecting a chat platform, for people and for programs.
 *
 * @module
 */

import type { Connected } from "../api/connection_operations.ts";
import { defined } from "../base/defined.ts";
import type { Context, OUTPUT_TEXT_JSON } from "./command.ts";
import { jsonText } from "./json_text.ts";
import { type AgentApplied, agentText } from "./with_agent.ts";

/**
 * Prints the created resources, and whether events arrive.
 *
 * @param after What to do now to see the first one, and what was applied for an agent.
 * @returns The exit code.
 */
export function printConnected(
  connected: Connected,
  after: { readonly next: string; readonly agent: AgentApplied | undefined },
  context: Context<[typeof OUTPUT_TEXT_JSON]>,
): number {
  const { name, to, resources, hooks, check } = connected;
  const { next, agent } = after;
  const isOk = check?.ok !== false;
  if (context.options.output === "json") {
    context.io.out(jsonText({ ...connected, ...defined({ agent }) }));
    return isOk ? 0 : 1;
  }
  const changed = resources.filter(({ action }) => action !== "unchanged");
  for (const { name, action } of changed) context.io.out(`${name} ${action}\n`);
  const isNew = changed.length > 0 || hooks.some(({ action }) => action !== "unchanged");
  const end = !isOk
    ? `is made, but its events do not arrive: ${check?.message}. Then run this command again`
    : `${to} is connected${isNew ? `: ${next}` : ", nothing had to be changed"}`;
  context.io.out(`connection/${name}: ${end}\n${agentText(agent, isOk)}`);
  return isOk ? 0 : 1;
}
