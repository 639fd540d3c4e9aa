/**
 * Says of a Person when it was seen last: the newest row of the control audit in its name.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import type { Column } from "../../resources/kind.ts";
import { PERSON_KIND } from "../../resources/person.ts";
import type { Resource } from "../../resources/resource.ts";
import type { ControlAuditStore } from "../../store/audit_store.ts";

/** When each Person that was seen was so last, in milliseconds since the epoch. */
export type LastSeen = ReadonlyMap<Resource, number>;

/** Looks when the Persons among these resources were seen last; not what an older one of a name did. */
export async function lastSeen(
  resources: readonly Resource[],
  { store }: { readonly store: Pick<ControlAuditStore, "listControl"> },
): Promise<LastSeen> {
  const seen = new Map<Resource, number>();
  for (const person of resources.filter(({ kind }) => kind === PERSON_KIND)) {
    const since = person.createdAt;
    const [newest] = await store.listControl({ caller: person.name, since, limit: 1 });
    if (newest !== undefined) seen.set(person, newest.createdAt);
  }
  return seen;
}

/** The column of a list of Persons. */
export function seenColumns(
  kind: string,
  seen: LastSeen,
  now: number,
): readonly Column<Resource>[] {
  if (kind !== PERSON_KIND) return [];
  return [{
    header: "SEEN",
    cell: (person) => {
      const at = seen.get(person);
      return at === undefined ? "" : shortDuration(now - at);
    },
  }];
}

/** The `status` of a Person that was seen; empty for others. */
export function seenStatus(
  resource: Resource,
  seen: LastSeen,
): { readonly last_seen_at?: string } {
  const at = seen.get(resource);
  return at === undefined ? {} : { last_seen_at: rfc3339(at) };
}
