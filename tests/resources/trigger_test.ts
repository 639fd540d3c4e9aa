/**
 * Kind `Trigger`: conditions are compiled on apply, blocks match their source, and a trigger that
 * cannot authenticate says so.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { formatFinding, parseManifest } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";
import { trigger } from "../../src/resources/trigger.ts";

const kinds = new KindLookup([]);

const SIGNED = "{secret: {fromRef: s}}";

/** A trigger with this `webhook` block and the lines of `more` under `event`. */
const manifest = (webhook: string, more = "") =>
  `kind: Trigger
metadata: {name: push}
spec:
  event:
    source: webhook
    webhook: ${webhook}
${more}  action: {workflow: w, workspace: ws}
`;

/** The condition stands at line 8, column 7. */
const withCondition = (condition: string) =>
  manifest(SIGNED, `    filter:\n      condition: ${JSON.stringify(condition)}\n`);

function said(text: string): string[] {
  const { documents, errors } = parseManifest("f.yaml", text);
  return [
    ...errors,
    ...documents.flatMap((document) =>
      readDocument(document.value, { kinds }).findings
        .map((one) => `${one.level} ${formatFinding(document, one)}`)
    ),
  ];
}

const specOf = (text: string) =>
  readDocument(parseManifest("f.yaml", text).documents[0]?.value, { kinds }).resource?.spec;

const CONDITIONS_TAKEN = [
  'payload_ref == "refs/heads/main"',
  "payload.repository.id > 9007199254740993",
  'headers["x-github-event"] == "push"',
  "trigger.name == delivery.id",
  "payload_l.exists(x, x == 1)",
  "true",
  "1",
  'payload_ref ==\n  "x"',
];

for (const condition of CONDITIONS_TAKEN) {
  Deno.test(`Trigger takes the condition ${JSON.stringify(condition)}`, () => {
    deepEqual(said(withCondition(condition)), []);
  });
}

const CONDITIONS_REFUSED: readonly [condition: string, column: string][] = [
  ["payload_a == && 1", "column 11"],
  ['payload_a = "x"', "column 11"],
  ["payload_a and payload_b", "column 11"],
  ["(payload_a", "column 11"],
  ['payload_ref ==\n  "x" +', "line 2, column 7"],
];

for (const [condition, column] of CONDITIONS_REFUSED) {
  Deno.test(`Trigger refuses the condition ${JSON.stringify(condition)} at ${column}`, () => {
    const lines = said(withCondition(condition));
    equal(lines.length, 1);
    ok(
      lines[0]?.startsWith(
        `error f.yaml:8:7: spec.event.filter.condition: Does not compile at ${column}: `,
      ),
      lines[0],
    );
  });
}

Deno.test("Trigger refuses a condition that is empty, too long or no text", () => {
  match(said(withCondition("")).join(), /f\.yaml:8:7: .*Expected a CEL expression/);
  match(said(withCondition("1".repeat(8193))).join(), /f\.yaml:8:7: .*longer than 8192/);
  const number = manifest(SIGNED, "    filter:\n      condition: 1\n");
  match(said(number).join(), /f\.yaml:8:7: .*Expected a CEL expression, found the number 1/);
});

const UNKNOWN_NAMES: readonly [condition: string, said: string][] = [
  ["foo == 1", 'column 1: there is no variable "foo"'],
  ["steps.a == 1", 'column 1: there is no variable "steps"'],
  ["goal == 'x'", 'column 1: there is no variable "goal"'],
  ["[1].exists(x, x == y)", 'column 20: there is no variable "y"'],
  ["payload.ref.nosuch() == 1", 'column 13: there is no function "nosuch"'],
  ['payload.a == 1 &&\n  b.matches("x")', 'line 2, column 3: there is no variable "b"'],
  ['payload.ref.matches("(")', "column 13: the pattern does not compile: "],
];

for (const [condition, fault] of UNKNOWN_NAMES) {
  Deno.test(`Trigger refuses what does not exist in ${JSON.stringify(condition)}`, () => {
    const lines = said(withCondition(condition));
    equal(lines.length, 1);
    const start = `error f.yaml:8:7: spec.event.filter.condition: Does not compile at ${fault}`;
    ok(lines[0]?.startsWith(start), lines[0]);
  });
}

const GITHUB = "secret: {fromRef: s}, signatureHeader: X-Hub-Signature-256";

const BLOCKS: readonly [what: string, text: string, findings: readonly RegExp[]][] = [
  ["who may start it", manifest(`{${GITHUB}, from: {permission: write, only: agents}}`), []],
  [
    "who may start it, at a platform without such an API",
    manifest(
      "{secret: {fromRef: s}, signatureHeader: X-Line-Signature, from: {permission: write}}",
    ),
    [/^error .*spec\.event\.webhook\.from: svc can ask only GitHub, GitLab, Gitea and Forgejo/],
  ],
  [
    "who may start it without a signature",
    manifest("{crdRef: K, signatureHeader: X-Hub-Signature-256, from: {permission: write}}"),
    [/^error .*spec\.event\.webhook\.from: Only a signature tells whose event it is/],
  ],
  [
    "another permission",
    manifest(`{${GITHUB}, from: {permission: read}}`),
    [/^error .*permission: Expected one of write, found "read"/],
  ],
  ["a secret", manifest(SIGNED), []],
  ["a secret and a header", manifest("{secret: {fromRef: s}, signatureHeader: X-Sig}"), []],
  ["a crdRef", manifest("{crdRef: Slack}"), []],
  ["dedup: bytes", manifest("{secret: {fromRef: s}, dedup: bytes}"), []],
  [
    "dedup: bytes with an idempotencyKey",
    manifest("{secret: {fromRef: s}, dedup: bytes, idempotencyKey: payload.id}"),
    [/^error f\.yaml:6:37: spec\.event\.webhook\.dedup: .*contradict/],
  ],
  [
    "dedup by something else",
    manifest("{secret: {fromRef: s}, dedup: body}"),
    [/^error f\.yaml:6:37: spec\.event\.webhook\.dedup: /],
  ],
  [
    "X-Hub-Signature, which is not everybody's SHA-1",
    manifest("{secret: {fromRef: s}, signatureHeader: X-Hub-Signature}"),
    [/^warning f\.yaml:6:37: .*: GitHub signs .*X-Hub-Signature-256; for Bitbucket.*scheme: sha256$/],
  ],
  [
    "X-Hub-Signature with its scheme",
    manifest("{secret: {fromRef: s}, signatureHeader: X-Hub-Signature, scheme: sha256}"),
    [],
  ],
  [
    "X-Twilio-Signature",
    manifest("{secret: {fromRef: s}, signatureHeader: X-Twilio-Signature}"),
    [/^warning f\.yaml:6:37: .*write scheme: twilio$/],
  ],
  ["a crdRef and a secret", manifest("{crdRef: Slack, secret: {fromRef: s}}"), []],
  [
    "neither secret nor crdRef",
    manifest("{}"),
    [/^warning f\.yaml:6:5: spec\.event\.webhook: No secret and no crdRef: .*401/],
  ],
  [
    "allowUnsigned alone",
    manifest("{allowUnsigned: true}"),
    [/^warning f\.yaml:6:15: spec\.event\.webhook\.allowUnsigned: Anyone/],
  ],
  [
    "allowUnsigned: false alone",
    manifest("{allowUnsigned: false}"),
    [/^warning f\.yaml:6:5: spec\.event\.webhook: No secret/],
  ],
  [
    "allowUnsigned with a secret",
    manifest("{secret: {fromRef: s}, allowUnsigned: true}"),
    [/^error f\.yaml:6:37: spec\.event\.webhook\.allowUnsigned: .*contradict/],
  ],
  [
    "allowUnsigned with a crdRef",
    manifest("{crdRef: Slack, allowUnsigned: true}"),
    [/^error f\.yaml:6:30: spec\.event\.webhook\.allowUnsigned: .*contradict/],
  ],
  [
    "allowUnsigned that is a text",
    manifest('{allowUnsigned: "true"}'),
    [/^error f\.yaml:6:15: spec\.event\.webhook\.allowUnsigned: Expected a boolean/],
  ],
  [
    "an empty fromRef",
    manifest('{secret: {fromRef: ""}}'),
    [/^error f\.yaml:6:24: spec\.event\.webhook\.secret\.fromRef: Expected a name/],
  ],
  [
    "an empty secret",
    manifest("{secret: {}}"),
    [/^error f\.yaml:6:15: spec\.event\.webhook\.secret: Missing field "fromRef"/],
  ],
  [
    "an unknown scheme",
    manifest("{secret: {fromRef: s}, scheme: md5}"),
    [/^error f\.yaml:6:37: spec\.event\.webhook\.scheme: Expected one of auto, /],
  ],
  [
    "an unknown field",
    manifest("{secret: {fromRef: s}, signatureHeadr: X}"),
    [/^error f\.yaml:6:37: .*Unknown field "signatureHeadr", did you mean "signatureHeader"\?/],
  ],
  [
    "an hmac of every field",
    manifest(
      "{secret: {fromRef: s}, scheme: hmac, signatureHeader: X, hmac: {algorithm: sha256, " +
        "encoding: base64url, prefix: v1=, separator: ';', timestampPrefix: t=, keyEncoding: hex, " +
        "template: '{timestamp}{header:X-Id}{path}{url}{body}'}}",
    ),
    [],
  ],
  [
    "a signed header without a name",
    manifest(
      "{secret: {fromRef: s}, scheme: hmac, signatureHeader: X, hmac: {algorithm: sha256, template: '{header:}{body}'}}",
    ),
    [/^error .*hmac\.template: Unknown \{header:\}: use one of \{timestamp\}/],
  ],
  [
    "a header that could not be one in the signed text",
    manifest(
      "{secret: {fromRef: s}, scheme: hmac, signatureHeader: X, hmac: {algorithm: sha256, template: '{header:X Y}{body}'}}",
    ),
    [/^error .*hmac\.template: Unknown \{header:X Y\}: use one of/],
  ],
  [
    "a time in a header that has one part",
    manifest(
      "{secret: {fromRef: s}, scheme: hmac, signatureHeader: X, hmac: {algorithm: sha256, timestampPrefix: t=, template: '{timestamp}{body}'}}",
    ),
    [/^error .*hmac\.timestampPrefix: .* needs separator/],
  ],
  [
    "two places for the time",
    manifest(
      "{secret: {fromRef: s}, scheme: hmac, signatureHeader: X, hmac: {algorithm: sha256, separator: ',', timestampPrefix: t=, timestampHeader: X-T, template: '{timestamp}{body}'}}",
    ),
    [/^error .*timestampHeader and timestampPrefix contradict/],
  ],
  [
    "a time beside the signature that is not signed",
    manifest(
      "{secret: {fromRef: s}, scheme: hmac, signatureHeader: X, hmac: {algorithm: sha256, separator: ',', timestampPrefix: t=}}",
    ),
    [/^error .*\{timestamp\} and timestampHeader \(or timestampPrefix\) need each other/],
  ],
  [
    "a separator that is none",
    manifest(
      "{secret: {fromRef: s}, scheme: hmac, signatureHeader: X, hmac: {algorithm: sha256, separator: ab}}",
    ),
    [/^error .*hmac\.separator: Expected one of , ; /],
  ],
];

for (const [what, text, expected] of BLOCKS) {
  Deno.test(`Trigger with ${what}`, () => {
    const lines = said(text);
    equal(lines.length, expected.length, lines.join("\n"));
    for (const [index, pattern] of expected.entries()) match(lines[index] ?? "", pattern);
  });
}

for (const header of ["X Y", "", "X:", "X-Sig\n", "Ä", "x".repeat(201), "X,Y", "(x)"]) {
  Deno.test(`Trigger refuses the header name ${JSON.stringify(header.slice(0, 10))}`, () => {
    const webhook = `{secret: {fromRef: s}, signatureHeader: ${JSON.stringify(header)}}`;
    match(said(manifest(webhook)).join(), /f\.yaml:6:37: .*Expected the name of an HTTP header/);
  });
}

Deno.test("Trigger refuses an unknown source, with line and column", () => {
  const text = manifest(SIGNED).replace("source: webhook", "source: telepathy");
  const found = said(text);
  match(found.join(), /^error f\.yaml:5:5: spec\.event\.source: Expected one of webhook/);
  equal(found.length, 1, "nothing is said of the blocks of other sources");
});

Deno.test("Trigger reports what is missing", () => {
  deepEqual(said("kind: Trigger\nmetadata: {name: a}\nspec: {}\n"), [
    'error f.yaml:3:1: spec: Missing field "event"',
  ]);
  const noWorkspace = manifest(SIGNED).replace(", workspace: ws", "");
  deepEqual(said(noWorkspace), ['error f.yaml:7:3: spec.action: Missing field "workspace"']);
});

Deno.test("trigger.references names stores, CRDs, workflow and workspace with their places", () => {
  const spec = specOf(manifest("{secret: {fromRef: s}, crdRef: Slack}"));
  const references = trigger.references?.(spec) ?? [];
  deepEqual(references.map((one) => [one.kind, one.name, one.path.join(".")]), [
    ["SecretStore", "s", "spec.event.webhook.secret.fromRef"],
    ["CustomResourceDefinition", "Slack", "spec.event.webhook.crdRef"],
    ["Workflow", "w", "spec.action.workflow"],
    ["Workspace", "ws", "spec.action.workspace"],
  ]);
  match(references[0]?.consequence ?? "", /401/);
  equal(references[2]?.consequence.includes("401"), false);
});

const KEPT: readonly (readonly [string, readonly string[]])[] = [
  ["{tasks: 7d, bodies: 1h}", []],
  ["{bodies: 60}", []],
  ["{tasks: 36500d}", []],
  ["{tasks: 0d}", ["error f.yaml:8:15: spec.retention.tasks: A time to keep is from 1m to 36500d"]],
  ["{bodies: 59s}", ["error f.yaml:8:15: spec.retention.bodies: A time to keep is from 1m"]],
  ["{bodies: 1y}", ["error f.yaml:8:15: spec.retention.bodies: "]],
  ["{days: 7}", ['error f.yaml:8:15: spec.retention.days: Unknown field "days"']],
  ["{tasks: 23h}", ["warning f.yaml:8:15: spec.retention.tasks: An event that its sender repeats"]],
  ["{tasks: 2d, bodies: 3d}", []],
  ["{tasks: 9d, bodies: 9d}", ["warning f.yaml:8:26: spec.retention.bodies: It has no effect"]],
  ["{tasks: 2d, bodies: 8d}", ["warning f.yaml:8:26: spec.retention.bodies: It has no effect"]],
];

for (const [retention, expected] of KEPT) {
  Deno.test(`Trigger with retention ${retention}: ${expected.length === 0 ? "taken" : "said"}`, () => {
    const found = said(`${manifest(SIGNED)}  retention: ${retention}\n`);
    deepEqual(found.map((one, at) => one.slice(0, expected[at]?.length)), expected, `${found}`);
  });
}
