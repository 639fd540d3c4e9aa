/**
 * Hooks of custom resources. They run after the commit, never on a dry run, and the caller of the
 * apply gets their failures.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { type CrdSpec, type HookAction, hooksOf } from "../resources/custom_resource_definition.ts";
import type { Resource } from "../resources/resource.ts";
import { type PluginHost, runPlugin } from "./run_plugin.ts";

/** A change of an instance of a custom resource. */
export interface InstanceChange {
  /** The CRD of its kind. */
  readonly crd: CrdSpec;
  /** The instance; after a deletion, its last state. */
  readonly resource: Resource;
  readonly action: HookAction;
}

/** Output of a hook is discarded. */
const MAX_OUTPUT = 1024;

/** Runs the hook for a change, if there is one; returns the reason of a failure as a sentence. */
export async function runHook(
  { crd, resource, action }: InstanceChange,
  host: PluginHost,
): Promise<string | undefined> {
  const hook = hooksOf(crd).find((one) => one.action === action);
  if (hook === undefined) return undefined;
  const result = await runPlugin({
    crdKind: crd.kind,
    name: `hook:${action}`,
    type: "hook",
    phase: "",
    command: hook.command,
    ...defined({ timeout: hook.timeout }),
    project: resource.project,
    trigger: "",
    deliveryId: "",
    env: { RESOURCE_KIND: resource.kind, RESOURCE_NAME: resource.name, RESOURCE_ACTION: action },
    input: new TextEncoder().encode(JSON.stringify(resource.spec)),
    fileVariable: "RESOURCE_SPEC_FILE",
    maxOutputBytes: MAX_OUTPUT,
  }, host);
  if (result.result === "ok") return undefined;
  return `${resource.kind.toLowerCase()}/${resource.name}: ${result.reason}`;
}
