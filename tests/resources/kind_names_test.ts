/**
 * Names that a CustomResourceDefinition cannot take, because `svc get` uses them for records,
 * built-in kinds or other definitions.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { CrdSpec } from "../../src/resources/custom_resource_definition.ts";
import { type CrdLike, KindLookup } from "../../src/resources/kind_lookup.ts";
import { KINDS } from "../../src/resources/kinds.ts";
import { readManifests } from "../../src/resources/read_manifests.ts";
import { findRecordName, RECORD_NAMES } from "../../src/resources/record_names.ts";

/** A definition of chats, with other names where they are given. */
function crd(names: Partial<CrdSpec> = {}): CrdLike {
  const spec = {
    kind: "Chat",
    plural: "chats",
    group: "example.com",
    versions: [{ name: "v1", schema: { type: "object" } }],
    ...names,
  } as CrdSpec;
  return { name: `${spec.plural}.example.com`, spec };
}

/** Every way to give a definition a name, `kind:` where the name can stand there. */
const ways = (name: string): Partial<CrdSpec>[] => [
  { plural: name },
  { singular: name },
  { shortNames: ["c", name] },
  ...name.includes("-") ? [] : [{ kind: name.charAt(0).toUpperCase() + name.slice(1) }],
];

for (const name of Object.entries(RECORD_NAMES).flat()) {
  Deno.test(`a definition cannot take the name of records "${name}"`, () => {
    for (const names of ways(name)) {
      equal(
        new KindLookup([]).conflict(crd(names)),
        `"${name}" is a name of svc's own records`,
        JSON.stringify(names),
      );
    }
  });
}

for (const kind of KINDS) {
  Deno.test(`a definition cannot take a name of ${kind.kind}`, () => {
    for (const name of new Set([kind.kind.toLowerCase(), kind.plural, ...kind.shortNames])) {
      for (const names of ways(name)) {
        const said = new KindLookup([]).conflict(crd(names));
        equal(said, `Another kind is already called "${name}"`, JSON.stringify(names));
      }
    }
  });
}

Deno.test("a definition can change its own names, and take none of another definition", () => {
  const kinds = new KindLookup([crd({ shortNames: ["ch"] })]);
  equal(kinds.conflict(crd({ shortNames: ["ch", "talk"] })), undefined);
  const other = (names: Partial<CrdSpec>) => crd({ kind: "Talk", plural: "talks", ...names });
  equal(kinds.conflict(other({})), undefined);
  for (const names of [{ kind: "Chat" }, { plural: "chats2", singular: "chat" }]) {
    equal(kinds.conflict(other(names)), 'Another kind is already called "chat"');
  }
  equal(kinds.conflict(other({ shortNames: ["ch"] })), 'Another kind is already called "ch"');
});

Deno.test("an apply says what is wrong with the name and what to do", () => {
  const { name, spec } = crd({ plural: "bindings" });
  const text = JSON.stringify({ kind: "CustomResourceDefinition", metadata: { name }, spec });
  const { errors } = readManifests({ files: [{ name: "crd.yaml", text }], crds: [] });
  deepEqual(errors.map((line) => line.replace(/^[^ ]+ /, "")), [
    `spec: "bindings" is a name of svc's own records, choose another name`,
  ]);
});

Deno.test("records are found by singular and plural in any case, and by nothing else", () => {
  equal(findRecordName("Source-Events"), "source-event");
  equal(findRecordName("DELIVERY"), "delivery");
  for (const word of ["", "tas", "taskss", "constructor", "__proto__", "toString"]) {
    equal(findRecordName(word), undefined, word);
  }
});
