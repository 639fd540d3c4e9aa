/**
 * Persons are found by identity and by name, as they are now.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { findPerson, personNamed } from "../../src/auth/persons.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { PersonSpec } from "../../src/resources/person.ts";
import type { Resource } from "../../src/resources/resource.ts";

function person(name: string, spec: Partial<PersonSpec>, project = ""): Resource {
  return {
    kind: "Person",
    project,
    name,
    metadata: {},
    spec: { role: "operator", ...spec },
    generation: 1,
    createdAt: 7,
    updatedAt: 7,
  };
}

const put = (resource: Resource) => ({ op: "put", resource } as const);

Deno.test("a person is found by each of its identities", () => {
  const catalog = new Catalog([
    person("ada", { is: ["github:1", "slack:T01/U02"], groups: ["ops"] }),
    person("bob", { role: "read_only", is: ["gitlab:1"] }),
    person("eve", {}),
  ]);
  const ada = { name: "ada", role: "operator", groups: ["ops"], since: 7 };
  deepEqual(findPerson(catalog, "github:1"), ada);
  deepEqual(findPerson(catalog, "slack:T01/U02"), ada);
  deepEqual(findPerson(catalog, "gitlab:1"), {
    name: "bob",
    role: "read_only",
    groups: [],
    since: 7,
  });
  for (const identity of ["github:11", "github:", "", "ada", "slack:U02", "gitlab:git.org/1"]) {
    equal(findPerson(catalog, identity), undefined, identity);
  }
  equal(personNamed(catalog, "eve")?.name, "eve");
  equal(personNamed(catalog, "Eve"), undefined);
});

Deno.test("an identity that moves to another person is that person's at once", () => {
  const catalog = new Catalog([person("ada", { is: ["github:1"] })]);
  equal(findPerson(catalog, "github:1")?.name, "ada");
  catalog.change([put(person("ada", {})), put(person("bob", { is: ["github:1"] }))]);
  equal(findPerson(catalog, "github:1")?.name, "bob");
  catalog.change([{ op: "delete", key: { kind: "Person", project: "", name: "bob" } }]);
  equal(findPerson(catalog, "github:1"), undefined);
});

Deno.test("an identity of two people is nobody's", () => {
  const catalog = new Catalog([
    person("ada", { is: ["github:1"] }),
    person("bob", { is: ["github:1"] }),
    person("eve", { is: ["github:1"] }),
  ]);
  equal(findPerson(catalog, "github:1"), undefined);
});

Deno.test("a Person of a user-defined kind, in a project, is no person", () => {
  const catalog = new Catalog([person("ada", { is: ["github:1"] }, "default")]);
  equal(findPerson(catalog, "github:1"), undefined);
  equal(personNamed(catalog, "ada"), undefined);
});
