/**
 * The fault of a machine on which manifests ask for sandboxes and none can be made.
 *
 * @module
 */

import type { AgentSpec } from "../resources/agent.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Resource } from "../resources/resource.ts";
import { NO_SANDBOX } from "../resources/sandbox.ts";
import type { Sandboxes } from "../tasks/sandbox/step_sandbox.ts";

/** A sentence with the remedy; `undefined` where sandboxes can be made, or nothing asks for one. */
export async function findSandboxFault(
  { required, support }: Pick<Sandboxes, "required" | "support">,
  catalog: Pick<Catalog, "list">,
): Promise<string | undefined> {
  // Agents have one unless they say otherwise.
  const isHeld = ({ spec }: Resource) => (spec as AgentSpec).sandbox !== NO_SANDBOX;
  const isAsked = required !== "none" || catalog.list("Sandbox").length > 0 ||
    catalog.list("Agent").some(isHeld);
  if (!isAsked) return undefined;
  const { fault } = await support();
  return fault === undefined
    ? undefined
    : `no sandbox can be made for steps, ${fault.why}: ${fault.cure}`;
}
