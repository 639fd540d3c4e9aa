/**
 * The validator: every finding at once, in plain words, at the right place, and no text of a value
 * in any of them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { compileSchema } from "../../src/resources/validate.ts";

const object = (properties: object, more: object = {}) => ({
  type: "object",
  properties,
  additionalProperties: false,
  ...more,
});

/** Findings as `path: message`. */
function check(schema: object, value: unknown): string[] {
  return compileSchema(schema).check(value)
    .map(({ path, message }) => `${path.join(".")}: ${message}`);
}

const TEXT = { type: "string" };
const FLAGS = object({ name: TEXT, labels: { type: "object" }, count: { type: "integer" } });

interface Case {
  readonly what: string;
  readonly schema: object;
  readonly value: unknown;
  readonly findings: readonly string[];
}

const CASES: readonly Case[] = [
  { what: "a value that fits", schema: FLAGS, value: { name: "a", count: 1 }, findings: [] },
  {
    what: "an unknown field like a known one",
    schema: FLAGS,
    value: { lables: {} },
    findings: ['lables: Unknown field "lables", did you mean "labels"?'],
  },
  {
    what: "an unknown field in another case",
    schema: FLAGS,
    value: { NAME: "x" },
    findings: ['NAME: Unknown field "NAME", did you mean "name"?'],
  },
  {
    what: "an unknown field like none",
    schema: FLAGS,
    value: { somethingElse: 1 },
    findings: ['somethingElse: Unknown field "somethingElse", known here: name, labels, count'],
  },
  {
    what: "an unknown field where none is known",
    schema: object({}),
    value: { a: 1 },
    findings: ['a: Unknown field "a", known here: none'],
  },
  {
    what: "several unknown fields",
    schema: FLAGS,
    value: { nmae: 1, cuont: 2 },
    findings: [
      'nmae: Unknown field "nmae", did you mean "name"?',
      'cuont: Unknown field "cuont", did you mean "count"?',
    ],
  },
  {
    what: "an unknown field called __proto__",
    schema: FLAGS,
    value: JSON.parse('{"__proto__": 1}'),
    findings: ['__proto__: Unknown field "__proto__", known here: name, labels, count'],
  },
  {
    what: "missing fields",
    schema: object({ a: TEXT, b: TEXT }, { required: ["a", "b"] }),
    value: {},
    findings: [': Missing field "a"', ': Missing field "b"'],
  },
  {
    what: "a missing field deep inside",
    schema: object({ a: { type: "array", items: object({ b: TEXT }, { required: ["b"] }) } }),
    value: { a: [{ b: "x" }, {}] },
    findings: ['a.1: Missing field "b"'],
  },
  {
    what: "a number for a text",
    schema: FLAGS,
    value: { name: 3 },
    findings: ["name: Expected a text, found the number 3"],
  },
  {
    what: "null for a text",
    schema: FLAGS,
    value: { name: null },
    findings: ["name: Expected a text, found nothing"],
  },
  {
    what: "a list for a mapping",
    schema: FLAGS,
    value: { labels: [] },
    findings: ["labels: Expected a mapping, found an empty list"],
  },
  {
    what: "a fraction for a whole number",
    schema: FLAGS,
    value: { count: 1.5 },
    findings: ["count: Expected an integer, found the number 1.5"],
  },
  {
    what: "a text for a mapping",
    schema: FLAGS,
    value: "x",
    findings: [": Expected a mapping, found a text of 1 character"],
  },
  {
    what: "a value outside an enum",
    schema: object({ a: { enum: ["x", "y"] } }),
    value: { a: "z" },
    findings: ["a: Expected one of x, y, found a text of 1 character"],
  },
  {
    what: "another constant",
    schema: object({ a: { const: "x" } }),
    value: { a: 1 },
    findings: ['a: Expected "x", found the number 1'],
  },
  {
    what: "the title instead of a keyword",
    schema: object({ a: { type: "string", pattern: "^x$", title: "an x" } }),
    value: { a: "y" },
    findings: ["a: Expected an x, found a text of 1 character"],
  },
  {
    what: "too few parts, and how many there are",
    schema: object({
      a: { type: "array", minItems: 2, title: "two things" },
      b: { type: "object", maxProperties: 1, title: "one thing" },
      c: { type: "array", minItems: 1, title: "a thing" },
    }),
    value: { a: [1], b: { x: 1, y: 2 }, c: [] },
    findings: [
      "a: Expected two things, found a list of 1",
      "b: Expected one thing, found a mapping of 2",
      "c: Expected a thing, found an empty list",
    ],
  },
  {
    what: "what stands in a list twice",
    schema: object({ a: { type: "array", uniqueItems: true, title: "names" } }),
    value: { a: ["x", "x"] },
    findings: ["a: Expected names, found something in it twice"],
  },
  {
    what: "a number out of bounds, and the number",
    schema: object({ a: { minimum: 1 }, b: { maximum: 2 } }),
    value: { a: 0, b: 3 },
    findings: ["a: Must be >= 1, found the number 0", "b: Must be <= 2, found the number 3"],
  },
  {
    what: "an empty text by its title",
    schema: object({ a: { type: "string", minLength: 1, title: "an x" } }),
    value: { a: "" },
    findings: ["a: Expected an x, found an empty text"],
  },
  {
    what: "a union as one finding",
    schema: object({
      a: { anyOf: [TEXT, object({ b: TEXT }, { required: ["b"] })], title: "text or {b}" },
    }),
    value: { a: { c: 1 } },
    findings: ["a: Expected text or {b}, found a mapping"],
  },
  {
    what: "keys that a JSON Pointer escapes",
    schema: object({ "a/b~c": object({ d: TEXT }) }),
    value: { "a/b~c": { d: 1, e: 2 } },
    findings: [
      "a/b~c.d: Expected a text, found the number 1",
      'a/b~c.e: Unknown field "e", known here: d',
    ],
  },
];

for (const { what, schema, value, findings } of CASES) {
  Deno.test(`compileSchema reports ${what}`, () => {
    deepEqual(check(schema, value).sort(), [...findings].sort());
  });
}

Deno.test("check puts findings below the place of the value", () => {
  const findings = compileSchema(FLAGS).check({ name: 1 }, ["spec", "x"]);
  deepEqual(findings.map((one) => [one.path, one.level]), [[["spec", "x", "name"], "error"]]);
});

for (const count of [9, 50, 1000]) {
  Deno.test(`check reports ${count} wrong items, each of them`, () => {
    const value = Array.from({ length: count }, () => 1);
    equal(check({ type: "array", items: TEXT }, value).length, count);
  });
}

for (const count of [1, 7, 8, 9, 100]) {
  Deno.test(`check refuses a value with ${count} unknown fields, each by name`, () => {
    const value = Object.fromEntries(Array.from({ length: count }, (_, i) => [`unknown${i}`, 1]));
    equal(check(FLAGS, value).length, count);
  });
}

Deno.test("check suggests nothing for a short name that merely has few letters", () => {
  const [finding] = check(object({ id: TEXT, run: TEXT }), { bad: 1 });
  ok(!finding?.includes("did you mean"), finding);
});

Deno.test("check shows a plain word only where it may, and longer texts never", () => {
  const schema = object({ a: { enum: ["Forbid", "Queue"] }, b: { type: "integer" } });
  const shown = (a: unknown, b: unknown) =>
    compileSchema(schema).check({ a, b }, [], { showWords: true }).map(({ message }) => message);
  deepEqual(shown("forbid", "ten"), [
    'Expected one of Forbid, Queue, found "forbid", did you mean "Forbid"?',
    'Expected an integer, found "ten"',
  ]);
  deepEqual(shown("x".repeat(21), "s3cr3t_value"), [
    "Expected one of Forbid, Queue, found a text of 21 characters",
    "Expected an integer, found a text of 12 characters",
  ]);
});

for (
  const [known, field, hint] of [
    [["id", "run", "agent", "when", "needs", "env"], "if", 'did you mean "when"?'],
    [["id", "run", "agent", "when", "needs", "env"], "name", 'did you mean "id"?'],
    [["id", "run", "agent", "when", "needs", "env"], "with", 'did you mean "env"?'],
    [
      ["id", "run", "agent"],
      "uses",
      'a step has "run" (a shell line) or "agent" (the name of an Agent)',
    ],
    [["steps", "finally"], "on", "a Trigger says when a Workflow runs"],
    [["steps", "finally"], "jobs", 'did you mean "steps"?'],
    [["event", "action"], "on", 'did you mean "event"?'],
    [["kind", "metadata", "spec"], "steps", 'it belongs under "spec"'],
    [["kind", "metadata", "spec"], "name", 'it belongs under "metadata"'],
    [["a", "b"], "if", "known here: a, b"],
  ] as const
) {
  Deno.test(`check says of the unknown field ${field} beside ${known[0]}: ${hint}`, () => {
    const schema = object(Object.fromEntries(known.map((name) => [name, {}])));
    deepEqual(check(schema, { [field]: 1 }), [`${field}: Unknown field "${field}", ${hint}`]);
  });
}

Deno.test("check never shows a text it refuses", () => {
  const schema = object({
    a: { enum: ["x"] },
    b: { const: "x" },
    c: { type: "string", pattern: "^x$" },
    d: { type: "string", maxLength: 1 },
    e: { type: "integer" },
    f: { anyOf: [{ type: "integer" }, { type: "boolean" }] },
  });
  const secret = "s3cr3t-value";
  const findings = check(schema, {
    a: secret,
    b: secret,
    c: secret,
    d: secret,
    e: secret,
    f: secret,
  });
  equal(findings.length, 6, findings.join("\n"));
  equal(findings.join("\n").includes(secret), false);
});
