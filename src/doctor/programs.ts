/**
 * What steps need of the machine: git, and whatever the applied resources name, looked for as a task
 * would.
 *
 * @module
 */

import { machineWarnings } from "../tasks/workspace/machine_warnings.ts";
import { KINDS } from "../resources/kinds.ts";
import type { PlacedNeed } from "../resources/read_manifests.ts";
import { displayName, type Resource } from "../resources/resource.ts";
import { Machine } from "../tasks/workspace/machine.ts";
import { type Check, failed, ok, warning } from "./check.ts";
import type { Scene } from "./place.ts";

/** Looks for git, which worktrees need and agents mostly do. */
export const git: Check<Scene> = {
  name: "git",
  async look({ place }, signal = new AbortController().signal) {
    const fault = await new Machine(place).faultOf({ needs: "program", name: "git" }, signal);
    return [fault === undefined ? ok("It is on the PATH of steps") : warning(fault)];
  },
};

/** Looks for the agents, other programs, directories and repositories of what is applied. */
export const needs: Check<Scene> = {
  name: "programs",
  async look(scene, signal) {
    const { place } = scene;
    const seen = await scene.database(signal).catch(() => undefined); // the check of the database reports it
    if (seen === undefined || seen.faults.length > 0) return [];
    const { resources } = seen;
    const machine = resources.flatMap(needsOf);
    const faults = await machineWarnings({ machine, resources }, {
      catalog: { find: () => undefined },
      clock: place.clock,
      machine: new Machine(place),
    });
    if (faults.length > 0) return faults.map(failed);
    return [ok("All programs, directories and repositories that applied resources name exist")];
  },
};

function needsOf(resource: Resource): readonly PlacedNeed[] {
  const kind = KINDS.find((one) => one.kind === resource.kind);
  return (kind?.machine?.(resource.spec) ?? []).map((need) => ({
    project: resource.project,
    need,
    place: `${displayName(resource)}: `,
  }));
}
