/**
 * Documents to resources: the envelope, names, projects, other API groups, and every finding of a
 * document at once with its line and column.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { formatFinding, parseManifest } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";

const kinds = new KindLookup([]);

/** What an apply has to say about a text: syntax first, then each document. */
function findings(text: string): string[] {
  const { documents, errors } = parseManifest("f.yaml", text);
  return [
    ...errors,
    ...documents.flatMap((document) =>
      readDocument(document.value, { kinds }).findings
        .map((one) => `${one.level} ${formatFinding(document, one)}`)
    ),
  ];
}

const NAMES: readonly [name: unknown, accepted: boolean][] = [
  ["a", true],
  ["A", true],
  ["0", true],
  ["push-to.main_2", true],
  ["a".repeat(253), true],
  ["a".repeat(254), false],
  ["", false],
  ["-a", false],
  ["a-", false],
  [".a", false],
  ["a.", false],
  ["_a", false],
  [".", false],
  ["..", false],
  ["a b", false],
  ["a/b", false],
  ["a\\b", false],
  ["a%2fb", false],
  ["a\n", false],
  ["a\0", false],
  ["ä", false],
  ["a:b", false],
  ["*", false],
  ["a@b", false],
  [1, false],
  [null, false],
  [true, false],
  [["a"], false],
];

for (const [name, accepted] of NAMES) {
  Deno.test(`readDocument ${accepted ? "takes" : "refuses"} the name ${JSON.stringify(name)}`, () => {
    const document = (metadata: object) => ({
      kind: "Workspace",
      metadata,
      spec: { path: "/tmp" },
    });
    const asName = readDocument(document({ name }), { kinds });
    equal(asName.resource?.name, accepted ? name : undefined);
    const asProject = readDocument(document({ name: "a", project: name }), { kinds });
    equal(asProject.resource?.project, accepted ? name : undefined);
  });
}

Deno.test("readDocument puts a resource into the project asked for, else its own, else default", () => {
  const projectOf = (own: object, asked?: string) =>
    readDocument({
      kind: "Workspace",
      metadata: { name: "a", ...own },
      spec: { path: "/tmp" },
    }, asked === undefined ? { kinds } : { kinds, project: asked }).resource?.project;
  equal(projectOf({}), "default");
  equal(projectOf({ project: "own" }), "own");
  equal(projectOf({ project: "own" }, "asked"), "asked");
  equal(projectOf({}, "asked"), "asked");
});

Deno.test("readDocument keeps a global kind out of every project", () => {
  const document = { kind: "Project", metadata: { name: "a", project: "own" } };
  equal(readDocument(document, { kinds, project: "asked" }).resource?.project, "");
});

Deno.test("readDocument gives metadata without name and project, and the spec as it stands", () => {
  const metadata = { description: "d", labels: { a: "b" }, annotations: { "x/y": "z" } };
  const spec = { path: "/tmp", env: { A: "1" } };
  const value = { kind: "Workspace", metadata: { name: "n", project: "p", ...metadata }, spec };
  deepEqual(readDocument(value, { kinds }), {
    resource: { kind: "Workspace", project: "p", name: "n", metadata, spec },
    findings: [],
  });
});

const API_VERSIONS: readonly [written: string, findings: readonly string[]][] = [
  ["svc/v1", []],
  ["other.dev/v2", [
    'warning f.yaml:1:1: apiVersion: "other.dev/v2" is not known here: read as svc/v1',
  ]],
  ["svc/v2", ['warning f.yaml:1:1: apiVersion: "svc/v2" is not known here: read as svc/v1']],
  ["v1", ['warning f.yaml:1:1: apiVersion: "v1" is not known here: read as svc/v1']],
];

for (const [written, expected] of API_VERSIONS) {
  Deno.test(`readDocument takes apiVersion ${written} with ${expected.length} warnings`, () => {
    const text = `apiVersion: ${written}\nkind: Project\nmetadata: {name: a}\n`;
    deepEqual(findings(text), expected);
    const value = parseManifest("f.yaml", text).documents[0]?.value;
    equal(readDocument(value, { kinds }).resource?.name, "a");
  });
}

const KIND_LIST = kinds.all.map((one) => one.kind).join(", ");

interface Case {
  readonly what: string;
  readonly text: string;
  readonly findings: readonly string[];
}

const CASES: readonly Case[] = [
  {
    what: "an unknown field of the document, with a suggestion",
    text: "kind: Project\nmetadata: {name: a}\nspce: {}\n",
    findings: ['error f.yaml:3:1: spce: Unknown field "spce", did you mean "spec"?'],
  },
  {
    what: "an unknown field of the metadata, with a suggestion",
    text: "kind: Project\nmetadata:\n  name: a\n  label: {}\n",
    findings: ['error f.yaml:4:3: metadata.label: Unknown field "label", did you mean "labels"?'],
  },
  {
    what: "an unknown field of the spec, with a suggestion",
    text: "kind: Workspace\nmetadata: {name: a}\nspec:\n  path: /tmp\n  evn: {}\n",
    findings: ['error f.yaml:5:3: spec.evn: Unknown field "evn", did you mean "env"?'],
  },
  {
    what: "a duplicate key",
    text: "kind: Project\nmetadata:\n  name: a\n  name: b\n",
    findings: ["f.yaml:4:3: Duplicate key, remove one of the two\n      name: b\n      ^"],
  },
  {
    what: "a wrong type",
    text: "kind: Project\nmetadata: {name: a}\nspec:\n  description: [x]\n",
    findings: ["error f.yaml:4:3: spec.description: Expected a text, found a list"],
  },
  {
    what: "a number where a label is text",
    text: "kind: Project\nmetadata:\n  name: a\n  labels: {version: 2}\n",
    findings: ["error f.yaml:4:12: metadata.labels.version: Expected a text, found the number 2"],
  },
  {
    what: "an unknown kind",
    text: "metadata: {name: a}\nkind: Triggr\n",
    findings: [
      `error f.yaml:2:1: kind: Unknown kind "Triggr", did you mean "Trigger"? use one of ${KIND_LIST}`,
    ],
  },
  {
    what: "a kind in another case",
    text: "kind: trigger\nmetadata: {name: a}\n",
    findings: [
      `error f.yaml:1:1: kind: Unknown kind "trigger", did you mean "Trigger"? use one of ${KIND_LIST}`,
    ],
  },
  {
    what: "a missing kind",
    text: "metadata: {name: a}\n",
    findings: ['error f.yaml:1:1: Missing field "kind"'],
  },
  {
    what: "a missing name",
    text: "kind: Project\nmetadata:\n  labels: {}\n",
    findings: ['error f.yaml:2:1: metadata: Missing field "name"'],
  },
  {
    what: "missing metadata",
    text: "\nkind: Project\n",
    findings: ['error f.yaml:2:1: Missing field "metadata"'],
  },
  {
    what: "a missing spec",
    text: "kind: Workspace\nmetadata: {name: a}\n",
    findings: ['error f.yaml:1:1: Missing field "spec"'],
  },
  {
    what: "an empty spec",
    text: "kind: Workspace\nmetadata: {name: a}\nspec:\n",
    findings: ['error f.yaml:1:1: Missing field "spec"'],
  },
  {
    what: "a missing field of the spec",
    text: "kind: Workspace\nmetadata: {name: a}\nspec:\n  env: {}\n",
    findings: ['error f.yaml:3:1: spec: Missing field "path"'],
  },
  {
    what: "a kind that is a number",
    text: "kind: 3\nmetadata: {name: a}\n",
    findings: ["error f.yaml:1:1: kind: Expected a text, found the number 3"],
  },
  {
    what: "a list for a document",
    text: "- kind: Project\n",
    findings: [
      'error f.yaml:1:1: Expected a resource: a mapping with "kind", "metadata" and "spec", found a list',
    ],
  },
  {
    what: "a text for a document",
    text: "hello\n",
    findings: [
      'error f.yaml:1:1: Expected a resource: a mapping with "kind", "metadata" and "spec", found a text of 5 characters',
    ],
  },
  {
    what: "the second document, with its own lines",
    text: "kind: Project\nmetadata: {name: a}\n---\n# comment\nkind: Project\nmetadata: {nam: b}\n",
    findings: [
      'error f.yaml:6:1: metadata: Missing field "name"',
      'error f.yaml:6:12: metadata.nam: Unknown field "nam", did you mean "name"?',
    ],
  },
  {
    what: "lines that end in CR LF",
    text: "kind: Project\r\nmetadata:\r\n  name: a\r\n  nmae: b\r\n",
    findings: ['error f.yaml:4:3: metadata.nmae: Unknown field "nmae", did you mean "name"?'],
  },
  {
    what: "a text with a byte order mark",
    text: "\uFEFFkind: Deployment\nmetadata: {name: a}\n",
    findings: [`error f.yaml:1:1: kind: Unknown kind "Deployment": use one of ${KIND_LIST}`],
  },
  {
    what: "a JSON document",
    text: '{\n  "kind": "Workspace",\n  "metadata": {"name": "a"},\n  "spec": {"path": 3}\n}\n',
    findings: [
      "error f.yaml:4:12: spec.path: Expected a path: absolute, below ~/, or relative to the data directory, found the number 3",
    ],
  },
  {
    what: "a merge key, which YAML 1.2 does not have",
    text: "kind: Project\nmetadata: {name: a, labels: &l {a: b}, annotations: {<<: *l}}\n",
    findings: [
      "error f.yaml:2:54: metadata.annotations.<<: Expected a text, found a mapping",
    ],
  },
  {
    what: "__proto__ as any other unknown field",
    text: "kind: Project\nmetadata: {name: a}\n__proto__: {spec: {}}\n",
    findings: [
      'error f.yaml:3:1: __proto__: Unknown field "__proto__", known here: apiVersion, kind, metadata, spec, status',
    ],
  },
];

for (const { what, text, findings: expected } of CASES) {
  Deno.test(`readDocument reports ${what} with line and column`, () => {
    deepEqual(findings(text), expected);
  });
}

Deno.test("readDocument reports what the schema and what the checks find in one round", () => {
  const text = `kind: Workflow
metadata: {name: w}
spec:
  timeout: [1]
  steps:
    - just a text
    - {id: a, if: "true", run: "true", when: "payload_a =="}
    - {name: b, run: "true", needs: [nosuch], env: {A: "{{ nosuch }}"}}
    - {id: c, run: "true", needs: a}
  finally:
    - {id: a, run: "true", needs: [c]}
`;
  const rows = findings(text).map((one) => one.replace(/^error f\.yaml:(\d+):\d+: /, "$1 "));
  deepEqual(rows.map((row) => row.slice(0, row.indexOf(": ") + 10)).sort(), [
    "11 spec.finally.0.id: Another ",
    "11 spec.finally.0.needs: Steps un",
    "4 spec.timeout: Expected",
    "6 spec.steps.0: Expected",
    "7 spec.steps.1.if: Unknown ",
    "7 spec.steps.1.when: Does not",
    "8 spec.steps.2.env.A: Does not",
    "8 spec.steps.2.name: Unknown ",
    "8 spec.steps.2.needs.0: No step ",
    "8 spec.steps.2: Missing ",
    "9 spec.steps.3.needs: Expected",
  ]);
});

Deno.test("readDocument judges what is there of a trigger whose action lacks its workspace", () => {
  const text = `kind: Trigger
metadata: {name: t}
spec:
  event:
    source: webhook
    webhook: {scheme: hmac}
    filter: {condition: "payload_a =="}
  action: {workflow: w}
`;
  const found = findings(text).filter((one) => one.startsWith("error"))
    .map((one) => one.split(": ").slice(1, 3).join(": ").slice(0, 40));
  deepEqual(found, [
    'spec.action: Missing field "workspace"'.slice(0, 40),
    'spec.event.webhook.scheme: Scheme "hmac"',
    "spec.event.filter.condition: Does not compile at".slice(0, 40),
  ]);
});

Deno.test("readDocument reports the errors of a value behind an alias where it stands", () => {
  const text = `kind: Workflow
metadata: {name: w}
spec:
  steps:
    - &step
      id: a
      rum: x
    - *step
`;
  const lines = findings(text);
  equal(lines.filter((line) => line.startsWith("error f.yaml:7:7: ")).length, 2, lines.join("\n"));
});

Deno.test("readDocument reports everything that is wrong at once", () => {
  const text = `kind: Workspace
metadata: {nme: a, project: "a b", labels: {x: 1}}
extra: 1
spec: {pth: /tmp, env: {A: 1, B: 2, C: [], D: {fromSecret: {stor: x}}}}
`;
  const paths = findings(text).map((line) => line.split(": ")[1]);
  deepEqual(
    [
      "extra",
      "metadata.nme",
      "metadata.project",
      "metadata.labels.x",
      "spec.pth",
      "spec.env.A",
      "spec.env.B",
      "spec.env.C",
      "spec.env.D",
    ].filter((path) => !paths.includes(path)),
    [],
  );
});

/** Many unknown fields must not hide that a document is wrong. */
const UNKNOWN = Array.from({ length: 12 }, (_, i) => `unknown${i}: 1`).join(", ");

for (
  const [where, text] of [
    ["the document", `{kind: Project, metadata: {name: a}, ${UNKNOWN}}`],
    ["the metadata, with a bad name", `{kind: Project, metadata: {${UNKNOWN}, name: ../x}}`],
    ["the spec", `{kind: Project, metadata: {name: a}, spec: {${UNKNOWN}}}`],
    [
      "a block, with a wrong type",
      `{kind: Trigger, metadata: {name: a}, spec: {action: {workflow: w, workspace: w}, event: {source: webhook, webhook: {${UNKNOWN}, allowUnsigned: "yes"}}}}`,
    ],
    [
      "the spec, with a run that is no text",
      `{kind: Workflow, metadata: {name: a}, spec: {${UNKNOWN}, steps: [{id: a, run: 3}]}}`,
    ],
  ] as const
) {
  Deno.test(`readDocument makes no resource of a document with 12 unknown fields in ${where}`, () => {
    const value = parseManifest("f.yaml", text).documents[0]?.value;
    const { resource, findings } = readDocument(value, { kinds });
    equal(resource, undefined);
    ok(findings.some((one) => one.level === "error"));
  });
}

Deno.test("readDocument reports each of 40 unknown fields", () => {
  const fields = Array.from({ length: 40 }, (_, i) => `unknown${i}: 1\n`).join("");
  equal(findings(`kind: Project\nmetadata: {name: a}\n${fields}`).length, 40);
});

Deno.test("readDocument reports errors of every document of a file", () => {
  const bad = "kind: Project\nmetadata: {name: a, x1: 1}\n";
  equal(findings(Array(30).fill(bad).join("---\n")).length, 30);
});

Deno.test("readDocument refuses values that are no document", () => {
  for (const value of [undefined, null, 1, "kind", true, [], [{ kind: "Project" }], new Map()]) {
    const { resource, findings } = readDocument(value, { kinds });
    equal(resource, undefined);
    ok(findings.length > 0);
  }
});
