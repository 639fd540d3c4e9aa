/**
 * Every field of a manifest with an expression: unknown names are refused with their place in the
 * file and in the expression, and known names are accepted.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match } from "node:assert/strict";
import { explainCondition } from "../../src/cel/explain.ts";
import { createEvaluator } from "../../src/cel/evaluator.ts";
import { scopeOf } from "../../src/cel/expression.ts";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { readDocument } from "../../src/resources/read.ts";

const kinds = new KindLookup([]);

type Spec = Record<string, unknown>;

function findingsOf(kind: string, spec: Spec, wanted: "error" | "warning"): string[] {
  const { findings } = readDocument({ kind, metadata: { name: "n" }, spec }, { kinds });
  return findings.filter(({ level }) => level === wanted)
    .map(({ path, message }) => `${path.join(".")}: ${message}`);
}

const errorsOf = (kind: string, spec: Spec) => findingsOf(kind, spec, "error");

const webhook = (fields: Spec) => ({
  source: "webhook",
  webhook: { allowUnsigned: true, ...fields },
});
const action = { workflow: "w", workspace: "default" };
const step = (fields: Spec) => ({ steps: [{ id: "s", run: "true", ...fields }] });
const asked = (prompt: string) => ({ steps: [{ id: "s", agent: "a", prompt }] });

/** A place by its path, and a spec with `expression` there. */
const PLACES: readonly [
  path: string,
  kind: string,
  form: "expression" | "template",
  spec: (text: string) => Spec,
][] = [
  ["spec.event.filter.condition", "Trigger", "expression", (condition) => ({
    event: { ...webhook({}), filter: { condition } },
    action,
  })],
  ["spec.event.webhook.idempotencyKey", "Trigger", "expression", (idempotencyKey) => ({
    event: webhook({ idempotencyKey }),
    action,
  })],
  ["spec.event.webhook.debounce.key", "Trigger", "expression", (key) => ({
    event: webhook({ debounce: { secs: 1, key } }),
    action,
  })],
  ["spec.concurrency.key", "Trigger", "expression", (key) => ({
    event: webhook({}),
    concurrency: { policy: "Queue", key },
    action,
  })],
  ["spec.action.goal", "Trigger", "template", (goal) => ({
    event: webhook({}),
    action: { ...action, goal },
  })],
  ["spec.steps.0.when", "Workflow", "expression", (when) => step({ when })],
  ["spec.finally.0.when", "Workflow", "expression", (when) => ({
    ...step({}),
    finally: [{ id: "z", run: "true", when }],
  })],
  ["spec.steps.0.env.A", "Workflow", "template", (A) => step({ env: { A } })],
  ["spec.steps.0.workdir", "Workflow", "template", (workdir) => step({ workdir })],
  ["spec.steps.0.prompt", "Workflow", "template", (prompt) => asked(prompt)],
  ["spec.env.A", "Workflow", "template", (A) => ({ ...step({}), env: { A } })],
  ["spec.env.A", "Agent", "template", (A) => ({ command: "true", env: { A } })],
  ["spec.env.A", "Workspace", "template", (A) => ({ path: "x", env: { A } })],
  ["spec.prompt", "StepTemplate", "template", (prompt) => ({ prompt })],
];

const FAULTS: readonly [expression: string, fault: string][] = [
  [
    "payload.ref.lowerAscci()",
    'column 13: there is no function "lowerAscci", did you mean "lowerAscii"?',
  ],
  ["paylod.ref", 'column 1: there is no variable "paylod", did you mean "payload"?'],
  ["payload.s.split()", 'column 11: "split" takes 1 or 2 arguments, found 0'],
  ["payload.s.matches('[')", "column 11: the pattern does not compile: "],
];

for (const [path, kind, form, spec] of PLACES) {
  const text = (source: string) => form === "template" ? `a {{ ${source} }} b` : source;
  for (const [source, fault] of FAULTS) {
    Deno.test(`${kind} ${path} refuses ${source}`, () => {
      const errors = errorsOf(kind, spec(text(source)));
      const expected = `${path}: Does not compile at ${fault}`;
      deepEqual(errors.map((error) => error.slice(0, expected.length)), [expected]);
    });
  }
  Deno.test(`${kind} ${path} takes what there is`, () => {
    const source = "payload.ref.split('/').exists(p, p.lowerAscii() == headers['x']) ||" +
      " type(payload_n) == int || has(payload.a) && trigger.name == delivery.id";
    deepEqual(errorsOf(kind, spec(text(source))), []);
  });
}

Deno.test("a function of which no other is a slip is refused with three that are near", () => {
  const [error = ""] = errorsOf("Workflow", step({ when: "payload.x.nosuchfunction()" }));
  match(
    error,
    /there is no function "nosuchfunction"; the nearest are \w+, \w+, \w+, and docs\/expressions\.md lists them all$/,
  );
});

Deno.test("a goal names the task, but no steps and no goal: neither is there yet", () => {
  const goal = (text: string) =>
    errorsOf("Trigger", { event: webhook({}), action: { ...action, goal: text } });
  deepEqual(goal("{{ task.id }} {{ payload.x }}"), []);
  deepEqual(
    goal("{{ steps.a.state }} {{ goal }}"),
    ["steps", "goal"].map((name) =>
      `spec.action.goal: Does not compile at column 1: there is no variable "${name}": ` +
      "use one of payload, headers, query, method, remote, signed, unsigned, trigger, delivery, task and payload_<field>"
    ),
  );
});

Deno.test("the parts of an explained condition agree with the condition", async () => {
  using evaluator = createEvaluator({ deadlineMs: 5000 });
  const scope = scopeOf({ payload: { a: null, list: [1], ref: "x/y" } });
  const parts = await explainCondition(
    'has(payload.a) && "a" in payload && type(payload.a) == null_type && payload.list[5] == 1 &&' +
      ' strings.quote(payload_ref) == "" && payload.ref.split("/")[1] == "y" &&' +
      ' !has(payload.action) && has(payload.list) && has({"b": payload.ref}.b)',
    scope,
    evaluator,
  );
  deepEqual(parts.map(({ value, error, saw }) => [value ?? error, saw]), [
    ["true", { "payload.a": "null" }],
    ["true", { payload: '{"a":null,"list":[1],"ref":"x/y"}' }],
    ["true", { "payload.a": "null" }],
    ["index out of bounds: 5", {}],
    ["false", { payload_ref: '"x/y"' }],
    ["true", { "payload.ref": '"x/y"' }],
    ["false", { "payload.action": "not known (field not found: action)" }],
    ["true", { "payload.list": "[1]" }],
    ["true", {}],
  ]);
  const bare = await explainCondition(
    "payload.ref || default(payload.b, 1) == 1",
    scope,
    evaluator,
  );
  deepEqual(bare.map(({ value, saw }) => [value, saw]), [
    ['"x/y"', {}],
    ["true", { "payload.b": "not known (field not found: b)" }],
  ]);
});

Deno.test("the parts of a condition are spelled as it spells what may be absent", async () => {
  using evaluator = createEvaluator({ deadlineMs: 5000 });
  const scope = scopeOf({ payload: { a: { b: ".?c" } } });
  for (const dot of ["?.", ".?"]) {
    const parts = await explainCondition(
      `payload${dot}a.b == ".?c" && payload${dot}d == null`,
      scope,
      evaluator,
    );
    deepEqual(parts.map(({ expression, value, saw }) => [expression, value, saw]), [
      [`payload${dot}a.b == ".?c"`, "true", { [`payload${dot}a.b`]: '".?c"' }],
      [`payload${dot}d == null`, "true", { [`payload${dot}d`]: "null" }],
    ]);
  }
});

Deno.test("what is no mistake of CEL and can hardly be meant is warned of", () => {
  const condition = 'has(headers["X-Event"]) && headers["x-b"] == ""';
  const event = { source: "webhook", webhook: { secret: { fromRef: "s" } }, filter: { condition } };
  deepEqual(findingsOf("Trigger", { event, action }, "warning"), [
    'spec.event.filter.condition: A header "X-Event" never exists, because names are in lower case here: headers["x-event"]',
  ]);
  const warned = (A: string) => findingsOf("Workflow", step({ env: { A } }), "warning");
  deepEqual(warned("{{ payload.a }} {{ payload.b"), [
    'spec.steps.0.env.A: "{{" without "}}" stays as it is, nothing is filled in',
  ]);
  deepEqual(warned('{{ headers["x-a"] }} }}'), []);
});

Deno.test("a function is found by the beginning of its name", () => {
  deepEqual(errorsOf("Workflow", step({ when: 'payload.x.upper() == "A"' })), [
    'spec.steps.0.when: Does not compile at column 11: there is no function "upper", did you mean "upperAscii"?',
  ]);
});
