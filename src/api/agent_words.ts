/**
 * What the agent of a step told about its run, in words: the same in `svc describe task` and the
 * console. All of it is text from outside.
 *
 * ```ts
 * import { agentFacts } from "./agent_words.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * deepEqual(
 *   agentFacts({ agent: "claude", tokens_in: "1200", tokens_out: "34", cost_usd: "0.02", x: "y" }),
 *   { agent: "claude", tokens: "1200 in, 34 out", cost: "0.02 USD" },
 * );
 * deepEqual(agentFacts({ x: "y" }), { agent: "", tokens: "", cost: "" });
 * ```
 *
 * @module
 */

import type { PlannedStepView } from "./task_operations.ts";

/** The agents of a step, the first choice first. */
export function agentNames(
  { agent, fallbacks }: Pick<PlannedStepView, "agent" | "fallbacks">,
): string {
  return [agent, ...fallbacks.map((one) => one.agent)].join(", else ");
}

/** Facts about a run of an agent; each is empty where it is not known. */
export interface AgentFacts {
  /** Name of the Agent that worked. */
  readonly agent: string;
  readonly tokens: string;
  readonly cost: string;
}

/** The outputs of which the facts are made. */
export const AGENT_OUTPUTS: readonly string[] = [
  "agent",
  "tokens_in",
  "tokens_out",
  "cost_usd",
];

/** The facts in the outputs of a step. */
export function agentFacts(outputs: Readonly<Record<string, unknown>>): AgentFacts {
  const of = (key: string) => {
    const value = outputs[key];
    return typeof value === "string" ? value : "";
  };
  const tokens = [["tokens_in", "in"], ["tokens_out", "out"]] as const;
  const cost = of("cost_usd");
  return {
    agent: of("agent"),
    tokens: tokens.flatMap(([key, way]) => of(key) === "" ? [] : [`${of(key)} ${way}`]).join(", "),
    cost: cost === "" ? "" : `${cost} USD`,
  };
}
