/**
 * Warnings about what manifests need of the machine and what is not there. No errors, because it
 * may come later: a checkout, an installation, a mount.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { messageOf } from "../../base/errors.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { MachineNeed } from "../../resources/machine_needs.ts";
import type { ManifestsRead } from "../../resources/read_manifests.ts";
import type { ResourceKey } from "../../resources/resource.ts";
import type { WorkspaceSpec } from "../../resources/workspace.ts";
import type { FoundNeed, Machine } from "./machine.ts";

/** What {@linkcode machineWarnings} needs. */
export interface MachineWarningsHost {
  readonly catalog: Pick<Catalog, "find">;
  readonly clock: Clock;
  readonly machine: Pick<Machine, "faultOf">;
}

/** What needs something of the machine. */
export interface MachineUsers extends Pick<ManifestsRead, "machine"> {
  /** The resources among them that are not in the catalog yet. */
  readonly resources: readonly (ResourceKey & { readonly spec: unknown })[];
}

/** Longest time that an apply waits for the machine: a network drive can hang for ever. */
const DEADLINE_MS = 2000;
/** Most that is looked for at once: git takes some processes for each repository. */
const MAX_CONCURRENT = 8;

interface Check {
  /** Beginning of a warning about it. */
  readonly place: string;
  readonly need: FoundNeed;
  state: "waiting" | "begun" | { readonly fault: string | undefined };
}

/** Looks for all that the input needs, within a time limit. */
export async function machineWarnings(
  read: MachineUsers,
  host: MachineWarningsHost,
): Promise<string[]> {
  const checks = checksOf(read, host.catalog);
  if (checks.length === 0) return [];
  const ending = new AbortController();
  const late = Promise.withResolvers<void>();
  using _timer = host.clock.after(DEADLINE_MS, () => {
    ending.abort();
    late.resolve();
  });
  const rest = checks.values();
  const work = async () => {
    for (const check of rest) {
      check.state = "begun";
      const fault = await faultOf(check, ending.signal, host);
      if (ending.signal.aborted) return; // has been told of as late
      check.state = { fault };
    }
  };
  await Promise.race([late.promise, Promise.all(Array.from({ length: MAX_CONCURRENT }, work))]);
  return describe(checks);
}

/** Each thing once, at the first place that needs it. */
function checksOf(
  { machine, resources }: MachineUsers,
  catalog: MachineWarningsHost["catalog"],
): Check[] {
  const checks = new Map<string, Check>();
  for (const { need, project, place } of machine) {
    const found = foundNeed(need, (name): WorkspaceSpec | undefined => {
      const isIt = (one: ResourceKey) =>
        one.kind === "Workspace" && one.project === project && one.name === name;
      const found = resources.find(isIt) ?? catalog.find("Workspace", project, name);
      return found?.spec as WorkspaceSpec | undefined;
    });
    if (found === undefined) continue;
    const key = JSON.stringify(found);
    if (!checks.has(key)) checks.set(key, { place, need: found, state: "waiting" });
  }
  return [...checks.values()];
}

/** A need without its place; none in a workspace that does not exist, which is told elsewhere. */
function foundNeed(
  need: MachineNeed,
  specOf: (workspace: string) => WorkspaceSpec | undefined,
): FoundNeed | undefined {
  switch (need.needs) {
    case "program":
      return { needs: need.needs, name: need.name };
    case "nodes":
      return { needs: need.needs, nodes: need.nodes };
    case "directory":
      return {
        needs: need.needs,
        path: need.path,
        repository: need.repository,
        ...defined({ nodes: need.nodes }),
      };
    case "watched": {
      const spec = specOf(need.workspace);
      if (spec === undefined) return undefined;
      const { path, nodes } = spec;
      const { needs, below } = need;
      return { needs, path, below, ...defined({ nodes }) };
    }
  }
}

async function faultOf(
  { need }: Check,
  signal: AbortSignal,
  { machine }: MachineWarningsHost,
): Promise<string | undefined> {
  try {
    return await machine.faultOf(need, signal);
  } catch (error) {
    return `${nameOf(need)} cannot be checked: ${messageOf(error)}`;
  }
}

/** Each fault once: a directory that is missing is missing for several. */
function describe(checks: readonly Check[]): string[] {
  const seconds = `${DEADLINE_MS / 1000} seconds`;
  const warnings = new Map<string, string>();
  for (const { place, need, state } of checks) {
    if (state === "waiting") continue;
    const fault = state === "begun"
      ? `${nameOf(need)} could not be checked within ${seconds}: see whether its disk responds`
      : state.fault;
    if (fault !== undefined && !warnings.has(fault)) warnings.set(fault, `${place}${fault}`);
  }
  const left = checks.filter(({ state }) => state === "waiting").length;
  if (left === 0) return [...warnings.values()];
  const what = left === 1 ? "1 path or program was" : `${left} paths and programs were`;
  return [...warnings.values(), `${what} not checked: the others took ${seconds}`];
}

function nameOf(need: FoundNeed): string {
  switch (need.needs) {
    case "program":
      return `The program "${need.name}"`;
    case "nodes":
      return `Nodes ${need.nodes.join(", ")}`;
    case "directory":
    case "watched":
      return `"${need.path}"`;
  }
}
