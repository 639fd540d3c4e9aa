/**
 * How the nodes of a cluster stand, as `svc status` and the console say it.
 *
 * ```ts
 * import { nodesText } from "./node_states.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const nodes = { names: ["alpha", "beta", "gamma"], gone: ["beta"], drained: ["beta", "gamma"] };
 * equal(nodesText(nodes), "alpha, beta (gone, drained), gamma (drained)");
 * ```
 *
 * @module
 */

import type { Status } from "./status_operations.ts";

/** The part of a status that says how nodes stand. */
export type NodeStates = Pick<NonNullable<Status["nodes"]>, "names" | "gone" | "drained">;

/** All nodes with their states and faults. */
export function nodesText({ names, gone, drained }: NodeStates): string {
  return names.map((name) => {
    const states = [
      ...gone.includes(name) ? ["gone"] : [],
      ...drained.includes(name) ? ["drained"] : [],
    ];
    return states.length === 0 ? name : `${name} (${states.join(", ")})`;
  }).join(", ");
}
