/**
 * Says how many tasks of a Project with a limit run.
 *
 * @module
 */

import type { Column } from "../../resources/kind.ts";
import { project as kind, type ProjectSpec } from "../../resources/project.ts";
import type { Resource } from "../../resources/resource.ts";
import type { PauseStore } from "../../store/pause_store.ts";

/** Number of running tasks of each Project with a limit. */
export type ProjectUses = ReadonlyMap<Resource, number>;

/** Counts the running tasks of the Projects with a limit among these resources. */
export async function projectUses(
  resources: readonly Resource[],
  { store }: { readonly store: Pick<PauseStore, "listProjectRooms"> },
): Promise<ProjectUses> {
  const limited = resources.filter((resource) => maxOf(resource) !== undefined);
  if (limited.length === 0) return new Map();
  const rooms = new Map(
    (await store.listProjectRooms()).map(({ project, running }) => [project, running]),
  );
  return new Map(limited.map((resource) => [resource, rooms.get(resource.name) ?? 0]));
}

/** The column of a list of Projects; none where no Project has a limit. */
export function projectColumns(uses: ProjectUses): readonly Column<Resource>[] {
  if (uses.size === 0) return [];
  return [{
    header: "RUNNING",
    cell: (resource) =>
      uses.has(resource) ? `${uses.get(resource)} of ${maxOf(resource)}` : "no limit",
  }];
}

/** The `status` of a Project with a limit; empty for others. */
export function projectStatus(
  resource: Resource,
  uses: ProjectUses,
): { readonly running?: number } {
  const running = uses.get(resource);
  return running === undefined ? {} : { running };
}

function maxOf(resource: Resource): number | undefined {
  return resource.kind === kind.kind ? (resource.spec as ProjectSpec).maxParallel : undefined;
}
