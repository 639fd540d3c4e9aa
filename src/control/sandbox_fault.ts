/**
 * The fault of a machine on which manifests ask for sandboxes and none can be made.
 *
 * @module
 */

import type { Catalog } from "../resources/catalog.ts";
import type { Sandboxes } from "../tasks/sandbox/step_sandbox.ts";

/** Kinds that ask for a sandbox, if one of them exists: agents have one unless they say otherwise. */
const ASKING = ["Agent", "Sandbox"];

/** A sentence with the remedy; `undefined` where sandboxes can be made, or nothing asks for one. */
export async function findSandboxFault(
  { required, support }: Pick<Sandboxes, "required" | "support">,
  catalog: Pick<Catalog, "list">,
): Promise<string | undefined> {
  const isAsked = required !== "none" || ASKING.some((kind) => catalog.list(kind).length > 0);
  if (!isAsked) return undefined;
  const { fault } = await support();
  return fault === undefined
    ? undefined
    : `no sandbox can be made for steps, ${fault.why}: ${fault.cure}`;
}
