/**
 * Warnings about things that manifests need and the machine does not have. They are no errors,
 * because a checkout, an installation or a mount may follow later.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { messageOf } from "../../base/errors.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { MachineNeed } from "../../resources/machine_needs.ts";
import type { ManifestsRead } from "../../resources/read_manifests.ts";
import { DEFAULT_PROJECT, type ResourceKey } from "../../resources/resource.ts";
import type { WorkspaceSpec } from "../../resources/workspace.ts";
import type { Machine, ResolvedNeed } from "./machine.ts";

/** The catalog, as far as needs are resolved with it. */
type WorkspaceCatalog = Pick<Catalog, "find">;

type FaultFinder = Pick<Machine, "faultOf">;

/** Manifests that need something of the machine. */
export interface MachineUsers extends Pick<ManifestsRead, "machine"> {
  /** The resources among them that are not in the catalog yet. */
  readonly resources: readonly (ResourceKey & { readonly spec: unknown })[];
}

/** Longest time that an apply waits for the machine: a network drive can hang for ever. */
const DEADLINE_MS = 2000;
/** Most checks at once: git takes some processes for each repository. */
const MAX_CONCURRENT = 8;

interface Check {
  /** Beginning of the warning, such as `0.yaml:3:20: spec.path: `. */
  readonly place: string;
  readonly need: ResolvedNeed;
  /** The command that looks for it as a step does, if there is one. */
  readonly command?: string;
  state: "waiting" | "begun" | { readonly fault: string | undefined };
}

/** Warnings about everything that `read` needs and that is missing, within a time limit. */
export async function machineWarnings(
  read: MachineUsers,
  { catalog, clock, machine }: {
    readonly catalog: WorkspaceCatalog;
    readonly clock: Clock;
    readonly machine: FaultFinder;
  },
): Promise<string[]> {
  const checks = checksOf(read, catalog);
  if (checks.length === 0) return [];
  const ending = new AbortController();
  const late = Promise.withResolvers<void>();
  using _timer = clock.after(DEADLINE_MS, () => {
    ending.abort();
    late.resolve();
  });
  const queue = checks.values();
  const work = async () => {
    for (const check of queue) {
      check.state = "begun";
      const fault = await faultOf(check.need, ending.signal, machine);
      if (ending.signal.aborted) return; // the warnings say already that it is late
      check.state = { fault };
    }
  };
  await Promise.race([late.promise, Promise.all(Array.from({ length: MAX_CONCURRENT }, work))]);
  return describe(checks);
}

/** Each thing once, at the first place that needs it. */
function checksOf(
  { machine, resources }: MachineUsers,
  catalog: WorkspaceCatalog,
): Check[] {
  const checks = new Map<string, Check>();
  for (const { need, project, place, agent } of machine) {
    const resolved = resolvedNeed(need, (name) => {
      const isIt = (one: ResourceKey) =>
        one.kind === "Workspace" && one.project === project && one.name === name;
      const workspace = resources.find(isIt) ?? catalog.find("Workspace", project, name);
      return workspace?.spec as WorkspaceSpec | undefined;
    });
    if (resolved === undefined) continue;
    const key = JSON.stringify(resolved);
    const command = agent === undefined || need.needs !== "program"
      ? undefined
      : checkCommand(agent, project);
    if (checks.has(key)) continue;
    checks.set(key, { place, need: resolved, ...defined({ command }), state: "waiting" });
  }
  return [...checks.values()];
}

function checkCommand(agent: string, project: string): string {
  const of = project === DEFAULT_PROJECT ? "" : ` --project ${project}`;
  return `svc agent check ${agent}${of}`;
}

/**
 * A need without its place in the manifests; `undefined` in a workspace that does not exist, of which
 * the validation warns.
 */
function resolvedNeed(
  need: MachineNeed,
  specOf: (workspace: string) => WorkspaceSpec | undefined,
): ResolvedNeed | undefined {
  switch (need.needs) {
    case "program":
      return { needs: need.needs, name: need.name };
    case "nodes":
      return { needs: need.needs, nodes: need.nodes };
    case "sandbox":
      return { needs: need.needs, rules: need.rules, optional: need.optional };
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
  need: ResolvedNeed,
  signal: AbortSignal,
  machine: FaultFinder,
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
  for (const { place, need, command, state } of checks) {
    if (state === "waiting") continue;
    const fault = state === "begun"
      ? `${nameOf(need)} could not be checked within ${seconds}: see whether its disk responds`
      : state.fault;
    if (fault === undefined || warnings.has(fault)) continue;
    const next = command === undefined ? "" : `. To see that it works: ${command}`;
    warnings.set(fault, `${place}${fault}${next}`);
  }
  const left = checks.filter(({ state }) => state === "waiting").length;
  if (left === 0) return [...warnings.values()];
  const what = left === 1 ? "1 path or program was" : `${left} paths and programs were`;
  return [...warnings.values(), `${what} not checked: the others took ${seconds}`];
}

function nameOf(need: ResolvedNeed): string {
  switch (need.needs) {
    case "program":
      return `The program "${need.name}"`;
    case "nodes":
      return `Nodes ${need.nodes.join(", ")}`;
    case "sandbox":
      return "The sandbox";
    case "directory":
    case "watched":
      return `"${need.path}"`;
  }
}
