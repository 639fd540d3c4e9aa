/**
 * Text templates: the values that fill them, and the placeholders of svc in a shell line.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  rejects,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { type JsonObject, parseJson } from "../../src/base/json.ts";
import { createEvaluator } from "../../src/cel/evaluator.ts";
import { scopeOf } from "../../src/cel/expression.ts";
import {
  compileTemplate,
  findUnsafePlaceholder,
  renderTemplate,
  WORKFLOW_VARIABLES,
} from "../../src/cel/template.ts";

const PAYLOAD = parseJson(`{
  "s": "text", "empty": "", "nul": null, "t": true, "n": 7, "f": 1.5,
  "big": 9007199254740993, "o": {"a": [1, "x", null]}, "hole": "{{ payload_s }}",
  "dollar": "$& $1 $\`", "lines": "a\\nb", "big_o": {"id": 9007199254740993}
}`);

async function render(template: string): Promise<string> {
  using evaluator = createEvaluator({ deadlineMs: 5000 });
  const scope = scopeOf({ payload: PAYLOAD, trigger: { name: "push" } } as JsonObject);
  return await renderTemplate(compileTemplate(template), scope, evaluator);
}

const RENDERED: readonly [template: string, text: string][] = [
  ["", ""],
  ["no hole", "no hole"],
  ["{{ payload_s }}", "text"],
  ["{{payload_s}}", "text"],
  ["{{\n  payload_s\n}}", "text"],
  ["a {{ payload_s }} b {{ payload_n }} c", "a text b 7 c"],
  ["{{ payload_s }}{{ payload_s }}", "texttext"],
  ["<{{ payload_empty }}>", "<>"],
  ["<{{ payload_nul }}>", "<>"],
  ["{{ payload_t }}", "true"],
  ["{{ payload_f }}", "1.5"],
  ["{{ payload_n + 1 }}", "8"],
  ["{{ payload_big }}", "9007199254740993"],
  ["{{ payload_big + 1 }}", "9007199254740994"],
  ["{{ payload_big_o }}", '{"id":9007199254740993}'],
  ["{{ payload_o }}", '{"a":[1,"x",null]}'],
  ["{{ payload_o.a.filter(x, x != null) }}", '[1,"x"]'],
  ['{{ payload_n > 5 ? "big" : "small" }}', "big"],
  ['{{ has(payload.gone) ? payload.gone : "-" }}', "-"],
  ["{{ trigger.name }}", "push"],
  ["{{ payload_hole }}", "{{ payload_s }}"],
  ["{{ payload_dollar }}", "$& $1 $`"],
  ["{{ payload_lines }}", "a\nb"],
  ["$& {{ payload_s }} $1", "$& text $1"],
  ["}} {{ payload_s }} {{", "}} text {{"],
  ["{ { payload_s } }", "{ { payload_s } }"],
  ["{{ string(payload_n) + payload_s }}", "7text"],
  ['{{ string(timestamp("2020-01-01T00:00:00Z")) }}', "2020-01-01T00:00:00Z"],
  ["{{ '{{' }}", "{{"],
];

for (const [template, text] of RENDERED) {
  Deno.test(`renderTemplate of ${JSON.stringify(template)}`, async () => {
    equal(await render(template), text);
  });
}

/** Values that JSON has no form for must not show how JavaScript holds them. */
for (
  const [source, text] of [
    ['timestamp("2020-01-01T00:00:00Z")', "2020-01-01T00:00:00Z"],
    ['duration("90s")', "90s"],
    ['b"abc"', "YWJj"],
  ]
) {
  Deno.test(`renderTemplate of {{ ${source} }} is ${text}, as protobuf writes it in JSON`, async () => {
    equal(await render(`{{ ${source} }}`), text);
  });
}

for (
  const [template, expression] of [
    ["{{ payload_missing }}", /\{\{ payload_missing \}\} has no value: no such variable/],
    ["ok {{ payload_s }} {{ payload_s.x }}", /\{\{ payload_s\.x \}\} has no value/],
    ["{{ 1 / 0 }}", /\{\{ 1 \/ 0 \}\} has no value/],
  ] as const
) {
  Deno.test(`renderTemplate refuses ${template} and names the expression`, async () => {
    await rejects(() => render(template), { code: "invalid", message: expression });
  });
}

for (
  const template of [
    "{{}}",
    "{{ }}",
    "a {{ 1 + }} b",
    "{{ . }}",
    "{{ payload_s | upper }}",
    "{{{ payload_s }}}",
    `{{ ${"x".repeat(8200)} }}`,
  ]
) {
  Deno.test(`compileTemplate refuses ${template.slice(0, 40)}`, () => {
    throws(() => compileTemplate(template), { code: "invalid" });
  });
}

Deno.test("compileTemplate keeps literal text and expressions in order", () => {
  const parts = compileTemplate("a{{ b }}{{c}}d").parts;
  deepEqual(parts.map((part) => typeof part === "string" ? part : [part.source]), [
    "a",
    ["b"],
    ["c"],
    "d",
  ]);
});

/** A braces-in-braces expression may be refused, but must never be cut in two and run. */
for (const template of ['{{ {"a": {"b": 1}} }}', '{{ "}}" }}', '{{ payload_s + "}} x {{" }}']) {
  Deno.test(`compileTemplate fills in or refuses ${template}, whose expression holds }}`, () => {
    let compiled: unknown;
    try {
      compiled = compileTemplate(template).parts.length;
    } catch (error) {
      compiled = (error as { code?: unknown }).code;
    }
    equal([1, "invalid"].includes(compiled as number), true);
  });
}

/** Shell lines, and the hole in them that would never be filled. */
const HOLES: readonly [line: string, hole: string | undefined][] = [
  ["docker inspect -f '{{.Id}}'", undefined],
  ["docker ps --format '{{json .}}'", undefined],
  ["docker ps --format '{{.Names}} {{.Ports}}'", undefined],
  ["{{.payload}}", undefined],
  ["{{ .payload }}", undefined],
  ["{{ .Values.trigger.name }}", undefined],
  ["{{range .steps}}{{.}}{{end}}", undefined],
  ["{{ $task }}", undefined],
  ["{{ $.task }}", undefined],
  ["{{ index .payload 0 }}", undefined],
  ['{{ "payload" }}', undefined],
  ["{{ 'payload_ref' }}", undefined],
  ["{{ Payload }}", undefined],
  ["{{ payloads }}", undefined],
  ["{{ my_payload }}", undefined],
  ["{{ 1 }}", undefined],
  ["{{ }}", undefined],
  ["{{ payload", undefined],
  ["payload }}", undefined],
  ["{ {payload} }", undefined],
  ["{{ .a }} payload {{ .b }}", undefined],
  ["echo $payload ${task} payload_ref", undefined],
  ["", undefined],
  ["{{ payload }}", "{{ payload }}"],
  ["{{payload}}", "{{payload}}"],
  ["{{ payload.x }}", "{{ payload.x }}"],
  ["{{ payload['x-y'] }}", "{{ payload['x-y'] }}"],
  ["{{payload_ref}}", "{{payload_ref}}"],
  ["{{ size(payload) }}", "{{ size(payload) }}"],
  ["{{!payload_draft}}", "{{!payload_draft}}"],
  ["{{- payload -}}", "{{- payload -}}"],
  ["{{ 'x' + payload_a }}", "{{ 'x' + payload_a }}"],
  ["{{\n payload_ref\n}}", "{{\n payload_ref\n}}"],
  ["echo '{{.Id}}' {{ payload_ref }} {{ goal }}", "{{ payload_ref }}"],
  ['echo "{{ payload_ref }}"', "{{ payload_ref }}"],
  ["{{ headers['x-event'] }}", "{{ headers['x-event'] }}"],
  ["{{ steps.build.outputs.id }}", "{{ steps.build.outputs.id }}"],
];

for (const [line, hole] of HOLES) {
  Deno.test(`findUnsafePlaceholder of ${JSON.stringify(line)}`, () => {
    equal(findUnsafePlaceholder(line), hole);
  });
}

for (const name of [...WORKFLOW_VARIABLES, "payload_x"]) {
  Deno.test(`findUnsafePlaceholder finds the variable ${name}`, () => {
    equal(findUnsafePlaceholder(`echo {{ ${name} }}`), `{{ ${name} }}`);
  });
}

/** A word inside quotes is text of another template language, not a variable of ours. */
for (
  const line of [
    `kubectl get pods -o go-template='{{index .metadata.labels "svc.dev/task"}}'`,
    `docker ps --format '{{printf "%s task" .Names}}'`,
    `{{ "the payload" }}`,
  ]
) {
  Deno.test(`findUnsafePlaceholder leaves alone ${line}`, () =>
    equal(findUnsafePlaceholder(line), undefined));
}
