/**
 * `sandbox.show`: what a step can read, write and reach in a Sandbox on this machine, by the rules by
 * which its sandbox is made.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { SandboxPath } from "../../api/sandbox_operations.ts";
import { AppError } from "../../base/errors.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { limitsOf } from "../../resources/limits.ts";
import { DEFAULT_PROJECT } from "../../resources/resource.ts";
import type { SandboxSpec } from "../../resources/sandbox.ts";
import { SCRATCH_BYTES } from "../../shell/sandbox.ts";
import { DEFAULT_SANDBOX, type PlannedSandbox } from "../../tasks/plan.ts";
import {
  findLack,
  findLackOfLimits,
  type SandboxHost,
  SCRATCH,
  shownFault,
} from "../../tasks/sandbox/step_sandbox.ts";
import { type NamedPath, namedPaths } from "../../tasks/sandbox/sandbox_paths.ts";
import type { InheritedEnv } from "../../tasks/step/inherited_env.ts";
import { rulesView } from "./rules_view.ts";

/** The sandboxes of a daemon. */
export interface ShowHost extends SandboxHost {
  readonly catalog: Catalog;
  readonly inherited: InheritedEnv;
}

/**
 * The sandbox of steps that name this one; without a name, that of steps of agents that name none.
 *
 * @throws {AppError} `not_found`.
 */
export function findSandbox(
  { name, project = DEFAULT_PROJECT }: Input<"sandbox.show">,
  catalog: Catalog,
): PlannedSandbox {
  if (name === undefined) return DEFAULT_SANDBOX;
  const found = catalog.find<SandboxSpec>("Sandbox", project, name);
  if (found !== undefined) return { name, spec: found.spec };
  throw new AppError("not_found", `No Sandbox "${name}" in project "${project}"`);
}

/**
 * What can be read, written and reached in a sandbox.
 *
 * @throws {AppError} `not_found`.
 */
export async function showSandbox(
  input: Input<"sandbox.show">,
  host: ShowHost,
): Promise<Output<"sandbox.show">> {
  const { name, spec } = findSandbox(input, host.catalog);
  const { dirs, sandboxes, inherited } = host;
  const support = await sandboxes.support();
  const rules = rulesView(spec);
  return {
    name: name ?? null,
    project: input.project ?? DEFAULT_PROJECT,
    fault: shownFault(findLack(spec, support)),
    machine: support.mounts.map(({ at }) => at),
    paths: (await namedPaths(spec, host)).map(pathView),
    home: sandboxes.home,
    scratch: SCRATCH,
    scratch_bytes: SCRATCH_BYTES,
    ...rules,
    limits: { ...rules.limits, fault: await limitsFault(spec, host) },
    absent: { data_dir: dirs.root, socket: dirs.socket, home: inherited.variables["HOME"] ?? "" },
  };
}

function pathView({ put, written, at, real, refused }: NamedPath): SandboxPath {
  return { written, path: at, access: put, exists: real !== "", refused: refused ?? null };
}

async function limitsFault(spec: SandboxSpec, { sandboxes }: Pick<SandboxHost, "sandboxes">) {
  const limits = limitsOf(spec);
  return shownFault(limits && findLackOfLimits(limits, await sandboxes.cgroups()));
}
