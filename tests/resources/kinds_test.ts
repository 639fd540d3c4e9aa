/**
 * The registry of kinds: no two share a name, each is found by any of its names, and its JSON
 * Schema accepts what the program accepts.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { KIND_NAMES } from "../../src/resources/kind_names.ts";
import { KINDS } from "../../src/resources/kinds.ts";
import { documentSchema, readDocument } from "../../src/resources/read.ts";
import { compileSchema } from "../../src/resources/validate.ts";

const kinds = new KindLookup([]);

/** One valid document of every kind; a kind without one fails the test below. */
const EXAMPLES: Readonly<Record<string, unknown>> = {
  Trigger: {
    event: { source: "webhook", webhook: { secret: { fromRef: "s" } } },
    action: { workflow: "w", workspace: "ws" },
  },
  Workflow: { steps: [{ id: "a", run: "echo" }] },
  Agent: { command: "agent --print", promptDelivery: "file" },
  StepTemplate: { prompt: "Review {{ payload.title }}" },
  Workspace: { path: "/tmp", isolation: "worktree", maxParallel: 2, nodes: ["gpu"] },
  SecretStore: { data: { key: "a-real-secret" } },
  Connection: {
    github: {
      repository: "brightwater/tidepool",
      token: { fromSecret: { store: "tidepool", key: "token" } },
    },
  },
  Notification: {
    on: ["task.failed", "daemon.degraded"],
    match: { trigger: "github-*" },
    to: [
      { webhook: { url: "https://ntfy.sh/topic", format: "text" } },
      { slack: { connection: "chat", channel: "C0123456789" } },
    ],
  },
  Project: { description: "d" },
  Person: { role: "operator", groups: ["ops"], is: ["github:583231", "slack:T01/U02"] },
  CustomResourceDefinition: {
    kind: "Ticket",
    plural: "tickets",
    group: "example.com",
    versions: [{ name: "v1", schema: { type: "object" } }],
  },
};

/** Names of the examples whose spec decides them. */
const NAMES: Readonly<Record<string, string>> = { CustomResourceDefinition: "tickets.example.com" };

Deno.test("KINDS holds the kinds of the contract", () => {
  const kinds = KINDS.map((one) => one.kind);
  for (const kind of ["Trigger", "Workflow", "Agent", "StepTemplate", "Workspace", "SecretStore"]) {
    ok(kinds.includes(kind), kind);
  }
});

Deno.test("each kind stands under its names, in the same order", () => {
  deepEqual(KINDS.map(({ kind }) => kind), Object.keys(KIND_NAMES));
});

Deno.test("KINDS has no name twice, in any case", () => {
  const names = KINDS.flatMap((one) => [
    ...new Set([one.kind.toLowerCase(), one.plural, ...one.shortNames]),
  ]);
  deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
});

Deno.test("KindLookup.named takes the exact name only", () => {
  equal(kinds.named("Trigger")?.kind, "Trigger");
  const others = ["trigger", "triggers", "TRIGGER", " Trigger", "Trigger ", "", "toString"];
  deepEqual(others.map((name) => kinds.named(name)), others.map(() => undefined));
});

for (const kind of KINDS) {
  Deno.test(`KindLookup.byAnyName finds ${kind.kind} by every name in any case`, () => {
    for (const name of [kind.kind, kind.plural, ...kind.shortNames]) {
      equal(kinds.byAnyName(name), kind);
      equal(kinds.byAnyName(name.toUpperCase()), kind);
      equal(kinds.byAnyName(name.toLowerCase()), kind);
    }
  });

  Deno.test(`${kind.kind} names itself in lower case and says what it is`, () => {
    equal(kind.plural, kind.plural.toLowerCase());
    deepEqual(kind.shortNames, kind.shortNames.map((name) => name.toLowerCase()));
    ok(/^[A-Z].*\.$/.test(kind.summary), kind.summary);
  });

  Deno.test(`documentSchema of ${kind.kind} is JSON and agrees with readDocument`, () => {
    const schema = documentSchema(kind);
    deepEqual(JSON.parse(JSON.stringify(schema)).title, kind.kind);
    const validator = compileSchema(JSON.parse(JSON.stringify(schema)));
    const good = {
      kind: kind.kind,
      metadata: { name: NAMES[kind.kind] ?? "a" },
      spec: EXAMPLES[kind.kind],
    };
    deepEqual(validator.check(good), []);
    ok(readDocument(good, { kinds }).resource !== undefined, "there is no valid example here");
    for (
      const bad of [
        { ...good, kind: "Other" },
        { ...good, metadata: {} },
        { ...good, metadata: { name: "a b" } },
        { ...good, other: 1 },
        { ...good, spec: [] },
        { ...good, spec: { ...good.spec as object, unknownField: 1 } },
      ]
    ) {
      ok(validator.check(bad).length > 0, JSON.stringify(bad));
      equal(readDocument(bad, { kinds }).resource, undefined, JSON.stringify(bad));
    }
  });
}

Deno.test("KindLookup.byAnyName knows nothing else", () => {
  const others = ["", " ", "toString", "__proto__", "triggerss", "all"];
  deepEqual(others.map((name) => kinds.byAnyName(name)), others.map(() => undefined));
});
