/**
 * CustomResourceDefinitions: refusals on apply, with their place.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok } from "node:assert/strict";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { formatFinding, parseManifest } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";

const GOOD = {
  kind: "CustomResourceDefinition",
  metadata: { name: "chats.example.com" },
  spec: {
    kind: "Chat",
    plural: "chats",
    group: "example.com",
    versions: [{ name: "v1", schema: { type: "object" } }],
  },
};

const CHECK = {
  name: "check",
  type: "interceptor",
  phase: "webhook.authenticate",
  command: "scripts/x.sh",
};
const TICK = { name: "tick", type: "cron", command: "scripts/x.sh", schedule: "*/5 * * * *" };

/** What reading a definition says; its text is JSON on one line a field. */
function says(spec: Record<string, unknown>, name = GOOD.metadata.name): string[] {
  const document = { ...GOOD, metadata: { name }, spec: { ...GOOD.spec, ...spec } };
  const [parsed] = parseManifest("crd.yaml", JSON.stringify(document, null, 1)).documents;
  if (parsed === undefined) throw new Error("It parses");
  const { findings } = readDocument(parsed.value, { kinds: new KindLookup([]) });
  return findings.map((finding) => `${finding.level} ${formatFinding(parsed, finding)}`);
}

Deno.test("a definition with every kind of plugin and hook is read without a finding", () => {
  const transform = { ...CHECK, name: "t", type: "transformer", phase: "webhook.transform" };
  const hooks = { onCreate: "scripts/a.sh", on_update: { command: "scripts/b.sh", timeout: 5 } };
  deepEqual(says({ plugins: [CHECK, transform, TICK], hooks, shortNames: ["ch"] }), []);
});

Deno.test("scope is only warned about", () => {
  deepEqual(says({ scope: "Cluster" }).map((line) => line.split(" ")[0]), ["warning"]);
});

const REFUSED: readonly [string, Record<string, unknown>, RegExp][] = [
  ["a plugin name twice", { plugins: [CHECK, CHECK] }, /spec\.plugins\.1\.name: Another plugin/],
  ["an unknown type", { plugins: [{ ...CHECK, type: "filter" }] }, /spec\.plugins\.0\.type: /],
  ["a wrong phase", { plugins: [{ ...CHECK, phase: "webhook.transform" }] }, /plugins\.0\.phase: /],
  [
    "no phase",
    { plugins: [{ ...CHECK, phase: undefined }] },
    /plugins\.0: .*webhook\.authenticate/,
  ],
  ["a phase of a cron plugin", { plugins: [{ ...TICK, phase: "x" }] }, /plugins\.0\.phase: /],
  ["no schedule", { plugins: [{ ...TICK, schedule: undefined }] }, /plugins\.0: .*schedule/],
  ["six fields", { plugins: [{ ...TICK, schedule: "* * * * * *" }] }, /schedule: .*five fields/],
  ["no cron", { plugins: [{ ...TICK, schedule: "a b c d e" }] }, /schedule: .*not a schedule/],
  ["a day that never comes", { plugins: [{ ...TICK, schedule: "0 0 31 2 *" }] }, /never occurs/],
  [
    "a schedule of an interceptor",
    { plugins: [{ ...CHECK, schedule: "* * * * *" }] },
    /\.schedule: /,
  ],
  ["an empty command", { plugins: [{ ...CHECK, command: "" }] }, /plugins\.0\.command: /],
  ["a blank command", { plugins: [{ ...CHECK, command: "  " }] }, /plugins\.0\.command: /],
  ["timeout 0", { plugins: [{ ...CHECK, timeout: 0 }] }, /plugins\.0\.timeout: /],
  ["a timeout of more than a day", { plugins: [{ ...CHECK, timeout: 86_401 }] }, /1 to 86400/],
  ["a negative timeout", { plugins: [{ ...CHECK, timeout: -1 }] }, /plugins\.0\.timeout: /],
  ["a fraction of a timeout", { plugins: [{ ...CHECK, timeout: 1.5 }] }, /plugins\.0\.timeout: /],
  ["a text for a timeout", { plugins: [{ ...CHECK, timeout: "5" }] }, /plugins\.0\.timeout: /],
  ["no versions", { versions: [] }, /spec\.versions: /],
  [
    "a schema of no object",
    { versions: [{ name: "v1", schema: { type: "string" } }] },
    /schema: .*type: object/,
  ],
  ["a schema without a type", { versions: [{ name: "v1", schema: {} }] }, /schema: .*type: object/],
  [
    "a version twice",
    { versions: [...GOOD.spec.versions, ...GOOD.spec.versions] },
    /Another version/,
  ],
  ["a hook in two spellings", { hooks: { onCreate: "a", on_create: "b" } }, /hooks\.on_create: /],
  ["an unknown hook", { hooks: { onFoo: "a" } }, /hooks\.onFoo: Unknown field/],
  ["an unknown input", { plugins: [{ ...CHECK, input: "args" }] }, /plugins\.0\.input: /],
];

for (const [what, spec, expected] of REFUSED) {
  Deno.test(`a definition with ${what} is refused where it stands`, () => {
    const errors = says(spec).filter((line) => line.startsWith("error crd.yaml:"));
    ok(errors.some((line) => expected.test(line)), errors.join("\n"));
  });
}

Deno.test("the name is PLURAL.GROUP", () => {
  match(says({}, "chat.example.com").join("\n"), /metadata\.name: .*"chats\.example\.com"/);
});
