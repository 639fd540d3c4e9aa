/**
 * Finds people: by an identity that a platform vouches for, or by name.
 *
 * @module
 */

import type { Role } from "../base/roles.ts";
import type { Catalog } from "../resources/catalog.ts";
import { PERSON_KIND, type PersonSpec } from "../resources/person.ts";
import type { Resource } from "../resources/resource.ts";

/** A Person as it is now. */
export interface FoundPerson {
  readonly name: string;
  readonly role: Role;
  readonly groups: readonly string[];
  /** Milliseconds since the epoch of its first apply. */
  readonly since: number;
}

/** The Persons of a catalog by identity, with the version of the catalog that they are from. */
interface Index {
  readonly version: number;
  /** `undefined` for an identity of two: nobody can tell which of them comes with it. */
  readonly owners: ReadonlyMap<string, FoundPerson | undefined>;
}

const INDEXES = new WeakMap<Catalog, Index>();

/** Every Person of a catalog, by name. */
export function personsOf(catalog: Catalog): Resource<PersonSpec>[] {
  // In a project there may be a user-defined kind of that name, from before this one.
  return catalog.list(PERSON_KIND, "") as Resource<PersonSpec>[];
}

/** The Person with an identity, such as `github:583231`. */
export function findPerson(catalog: Catalog, identity: string): FoundPerson | undefined {
  let index = INDEXES.get(catalog);
  if (index?.version !== catalog.version) {
    index = { version: catalog.version, owners: ownersIn(catalog) };
    INDEXES.set(catalog, index);
  }
  return index.owners.get(identity);
}

/** The Person with a name. */
export function personNamed(catalog: Catalog, name: string): FoundPerson | undefined {
  const resource = catalog.find<PersonSpec>(PERSON_KIND, "", name);
  return resource === undefined ? undefined : toFound(resource);
}

/** Whether the Person of a name is the one that it was at a time, in milliseconds since the epoch. */
export function isStill(name: string, at: number, catalog: Catalog): boolean {
  const person = personNamed(catalog, name);
  return person !== undefined && person.since <= at;
}

function ownersIn(catalog: Catalog): Index["owners"] {
  const owners = new Map<string, FoundPerson | undefined>();
  for (const resource of personsOf(catalog)) {
    for (const identity of resource.spec.is ?? []) {
      owners.set(identity, owners.has(identity) ? undefined : toFound(resource));
    }
  }
  return owners;
}

function toFound({ name, spec: { role, groups = [] }, createdAt }: Resource<PersonSpec>) {
  return { name, role, groups, since: createdAt };
}
