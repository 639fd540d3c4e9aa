/**
 * The projects that exist: those that were applied, and those of resources, since a project need
 * not be applied. Pure.
 *
 * @module
 */

import type { Catalog } from "./catalog.ts";
import { project as kind } from "./project.ts";
import type { Resource } from "./resource.ts";

/** Every project by name; one that was never applied has generation 0 and an empty spec. */
export function projectsOf(catalog: Catalog): Resource[] {
  const projects = new Map(catalog.list(kind.kind).map((one) => [one.name, one]));
  const used = catalog.kinds.all.filter(({ global }) => !global)
    .flatMap((one) => catalog.list(one.kind))
    .toSorted((a, b) => a.createdAt - b.createdAt);
  for (const { project: name, createdAt } of used) {
    if (projects.has(name)) continue;
    projects.set(name, {
      kind: kind.kind,
      project: "",
      name,
      metadata: {},
      spec: {},
      generation: 0,
      createdAt,
      updatedAt: createdAt,
    });
  }
  return [...projects.values()].toSorted((a, b) => a.name < b.name ? -1 : 1);
}
