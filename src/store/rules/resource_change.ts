/**
 * Whether changes of resources still fit what is stored: each was decided on what a daemon knew,
 * and another one may have changed it since.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { displayName, keyOf, type Resource, type ResourceKey } from "../../resources/resource.ts";
import type { ResourceChange } from "../resource_store.ts";

/** Which version of a resource is stored. */
export type StoredVersion = Pick<Resource, "generation" | "createdAt">;

/** The changes, at most one for each resource. */
export interface SettledChanges {
  readonly puts: readonly Resource[];
  readonly deletes: readonly ResourceKey[];
}

/**
 * Goes through changes in their order; `stored` has the versions by `keyOf`, as they were before.
 *
 * @throws {AppError} `conflict` when a put was not decided on the version that is there.
 */
export function settleChanges(
  changes: readonly ResourceChange[],
  stored: ReadonlyMap<string, StoredVersion>,
): SettledChanges {
  const now = new Map<string, StoredVersion>(stored);
  const last = new Map<string, ResourceChange>();
  for (const change of changes) {
    const resource = change.op === "put" ? change.resource : change.key;
    const key = keyOf(resource);
    last.set(key, change);
    if (change.op === "delete") now.delete(key);
    else if (!follows(change.resource, now.get(key))) {
      throw new AppError(
        "conflict",
        `Nothing was changed: ${displayName(resource)} has changed meanwhile`,
      );
    } else now.set(key, change.resource);
  }
  return {
    puts: [...last.values()].flatMap((one) => one.op === "put" ? [one.resource] : []),
    deletes: [...last.values()].flatMap((one) => one.op === "delete" ? [one.key] : []),
  };
}

/** Whether a resource is the next version of what is there, or new where there is none. */
function follows({ generation, createdAt }: StoredVersion, before?: StoredVersion): boolean {
  if (before === undefined) return generation === 1;
  return generation === before.generation + 1 && createdAt === before.createdAt;
}
