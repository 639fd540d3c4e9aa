/**
 * Projects with a limit of tasks, for several files of cases.
 *
 * @module
 */

import type { Store } from "../../../src/store/store.ts";

/** Applies a Project with this limit; without one where it is absent. */
export async function limitProject(store: Store, name: string, maxParallel?: number) {
  const [stored] = (await store.loadResources())
    .filter((one) => one.kind === "Project" && one.name === name);
  await store.changeResources([{
    op: "put",
    resource: {
      kind: "Project",
      project: "",
      name,
      metadata: {},
      spec: maxParallel === undefined ? {} : { maxParallel },
      generation: (stored?.generation ?? 0) + 1,
      createdAt: 1,
      updatedAt: 1,
    },
  }]);
}
