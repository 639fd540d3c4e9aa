/**
 * Manifests: the place of every field, every syntax error with its line and column, and texts that
 * make the reader neither throw nor take long.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  doesNotThrow,
  match,
  ok,
  strictEqual as equal,
} from "node:assert/strict";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { formatFinding, parseManifest, toYaml } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";
import { errorAt, type FieldPath } from "../../src/resources/resource.ts";
import { cpuMs } from "../helpers/cpu_time.ts";
import { times } from "../helpers/program.ts";
import { Random } from "../helpers/random.ts";

const kinds = new KindLookup([]);

const parse = (text: string) => parseManifest("f.yaml", text);

/** Where the field at `path` of the document at `index` stands. */
const place = (text: string, path: FieldPath, index = 0) =>
  parse(text).documents[index]?.locate(path);

const BLOCK = `# comment
kind: Workflow
metadata:
  name: w
spec:
  steps:
    - id: a
      run: x
    -   id: b
        env:
          "quoted key": 1
`;

const PLACES: readonly [what: string, text: string, path: FieldPath, place: string][] = [
  ["the document", BLOCK, [], "f.yaml:2:1"],
  ["a key", BLOCK, ["kind"], "f.yaml:2:1"],
  ["a nested key", BLOCK, ["metadata", "name"], "f.yaml:4:3"],
  ["an item of a list", BLOCK, ["spec", "steps", 1], "f.yaml:9:9"],
  ["a position given as text", BLOCK, ["spec", "steps", "1"], "f.yaml:9:9"],
  ["a key in an item", BLOCK, ["spec", "steps", 0, "run"], "f.yaml:8:7"],
  ["a quoted key", BLOCK, ["spec", "steps", 1, "env", "quoted key"], "f.yaml:11:11"],
  ["a missing key, as its parent", BLOCK, ["spec", "gone"], "f.yaml:5:1"],
  ["a missing item, as its list", BLOCK, ["spec", "steps", 7, "id"], "f.yaml:6:3"],
  ["a path through a text", BLOCK, ["kind", "x", "y"], "f.yaml:2:1"],
  ["a flow mapping", "a: {b: [1, {c: 2}]}", ["a", "b", 1, "c"], "f.yaml:1:13"],
  ["JSON", '{"a": 1,\n  "b": {"c": [true]}}', ["b", "c", 0], "f.yaml:2:15"],
  ["JSON with tabs", '{\n\t"a": {\n\t\t"b": 1\n\t}\n}', ["a", "b"], "f.yaml:3:3"],
  ["lines that end in CR LF", "a:\r\n  b:\r\n    c: 1\r\n", ["a", "b", "c"], "f.yaml:3:5"],
  ["a text with a byte order mark", "\uFEFFa: 1\nb: 2", ["a"], "f.yaml:1:1"],
  ["a later line after a byte order mark", "\uFEFFa: 1\nb: 2", ["b"], "f.yaml:2:1"],
  ["characters beyond ASCII", "é: {😀: 1, x: 2}", ["é", "x"], "f.yaml:1:12"],
  ["an anchor", "a: &x\n  b: 1\nc: *x", ["a", "b"], "f.yaml:2:3"],
  ["what an alias stands for", "a: &x\n  b: 1\nc: *x", ["c", "b"], "f.yaml:2:3"],
  ["a numeric key", "1:\n  2: x", ["1", "2"], "f.yaml:2:3"],
  ["a list at the top", "- a\n- b: 1", [1, "b"], "f.yaml:2:3"],
  ["a text at the top", "\n  hello", ["a"], "f.yaml:2:3"],
  ["__proto__", "a: 1\n__proto__:\n  b: 1", ["__proto__", "b"], "f.yaml:3:3"],
];

for (const [what, text, path, expected] of PLACES) {
  Deno.test(`locate finds ${what}`, () => equal(place(text, path), expected));
}

Deno.test("locate counts lines from the top of the file in every document", () => {
  const text = "a: 1\n---\nb:\n  c: 2\n---\n# only a comment\nd: 3\n";
  equal(place(text, ["b", "c"], 1), "f.yaml:4:3");
  equal(place(text, ["d"], 2), "f.yaml:7:1");
});

/** Slips that people make: what is said, and what stands above the mark. */
const SYNTAX: readonly [what: string, text: string, said: RegExp, mark: string][] = [
  ["a duplicate key", "a: 1\nb: 2\na: 3\n", /^f\.yaml:3:1: Duplicate key/, "a: 3"],
  ["a duplicate key in quotes", "a: 1\n'a': 2\n", /^f\.yaml:2:1: Duplicate key/, "'a': 2"],
  ["a duplicate key in JSON", '{"a": 1, "a": 2}\n', /^f\.yaml:1:10: Duplicate key/, '"a": 2}'],
  ["a nested duplicate key", "x:\n  - a: 1\n    a: 2\n", /^f\.yaml:3:5: Duplicate/, "a: 2"],
  [
    "braces in braces",
    "- {run: echo {{ payload.x }}, env: {X: 1}}\n- b: 1\n",
    /:1:14: .*quotes/,
    "{{ p",
  ],
  ["tabs for indentation", "a:\n\tb: 1\n\tc: 2\n", /^f\.yaml:2:1: Tabs .* spaces/, " b: 1"],
  ["a quote that never ends", 'a:\n  b: "x\nc: 1\nd: 2\n', /:2:6: This " is never closed/, '"x'],
  ["a quote that ends too late", "a: 'x\nb: 'y'\n", /:1:4: This ' is never closed/, "'x"],
  ["a quote in quotes", 'a: "echo "x" y"\nb: 1\n', /:1:11: The text in quotes has ended/, 'x" y"'],
  ["an open bracket", "a: [1, 2\nb: 3\nc: 4\n", /^f\.yaml:1:4: This \[ is never closed/, "[1, 2"],
  ["an open brace", "m: {name: x\nspec:\n  a: [1]\n", /:1:4: This \{ is never closed/, "{name"],
  ["an open outer brace", "- {e: {X: 1}\n- b: 1\n", /:1:3: This \{ is never closed/, "{e: {X"],
  ["a bracket that closes another", '{"a": [1, 2}\n', /:1:7: This \[ is never closed/, "[1, 2}"],
  ["a brace too many", "a: {b: 1}}\nc: 2\n", /:1:10: This \} has no opening one/, "}"],
  ["a bracket too many", "]\n", /^f\.yaml:1:1: This \]/, "]"],
  ["fields too far left", "a:\n    b: 1\n  c: 2\n  d: 2\n", /:3:3: The indentation/, "c: 2"],
  ["a field too far right", "a:\n  b: 1\n   c: 2\n", /:3:4: The indentation/, "c: 2"],
  ["an item too far right", "- a: 1\n - b: 1\n", /^f\.yaml:2:2: The indentation/, "- b: 1"],
  ["a field beside items", "a:\n  - b\n  c: 1\n", /^f\.yaml:3:3: The indentation/, "c: 1"],
  ["a mapping in a line", "a: b: c\n", /^f\.yaml:1:4: A text with ": "/, "b: c"],
  ["no space after a colon", "kind:X\nmetadata: 1\n", /:1:1: .*"name: value"/, "kind:X"],
  ["a comma too few", "{a: 1 b: 2}\n", /^f\.yaml:1:5: A comma is missing/, "1 b"],
  ["a comma too few in JSON", '{"a": 1\n "b": 2}\n', /^f\.yaml:1:7: A comma is missing/, "1"],
  ["a reserved character", "a: @x\nb: `y`\n", /^f\.yaml:1:4: .* with @ needs quotes/, "@x"],
  ["a star", "a: *\n", /^f\.yaml:1:4: A text that begins with \*/, "*"],
  ["a star before a name", "a: *x\n", /^f\.yaml:1:4: A text that begins with \*/, "*x"],
  ["an unknown escape", 'a: "\\d"\n', /^f\.yaml:1:5: A \\ in double quotes/, "\\d"],
  ["a merge conflict", "a: 1\n<<<<<<< HEAD\nb: 1\n=======\n", /:2:1: A merge conflict/, "<<<<"],
];

for (const [what, text, said, mark] of SYNTAX) {
  Deno.test(`parseManifest says once what is wrong with ${what}, and marks it`, () => {
    const manifest = parse(`${text}# kind: Workflow\n`);
    deepEqual(manifest.documents, []);
    equal(manifest.errors.length, 1, manifest.errors.join("\n"));
    const [message = "", line = "", caret = ""] = manifest.errors[0]?.split("\n") ?? [];
    match(message, said);
    equal(line.slice(caret.indexOf("^")).startsWith(mark), true, manifest.errors[0]);
  });
}

Deno.test("parseManifest reports each duplicate key", () => {
  const { errors } = parse("a: 1\na: 2\nb: 1\nb: 2\n");
  deepEqual(errors.map((one) => one.split(": ")[0]), ["f.yaml:2:1", "f.yaml:4:1"]);
});

Deno.test("parseManifest shows a part of a long line", () => {
  const [, line = "", caret = ""] =
    parse(`a: "${"x".repeat(500)}" y\nkind: X\n`).errors[0]?.split("\n") ??
      [];
  ok(line.length < 80, line);
  equal(line[caret.indexOf("^")], "y");
});

for (
  const text of [
    "kind: SecretStore\nspec:\n  data: {a: s3cr3t, b: s3cr3t {x}}\n",
    "kind: Vault\nspec:\n  password: @s3cr3t\n",
    'kind: Vault\nspec: {apiToken: "s3cr3t}\n',
    '{"kind": "Vault", "client_secret": "s3cr3t" "b": 1}',
    '{"data": {"a": "s3cr3t" "b": 1}}',
  ]
) {
  Deno.test(`parseManifest does not show the line of ${JSON.stringify(text)}`, () => {
    const { errors } = parse(text);
    equal(errors.length, 1);
    equal(errors.join("\n").includes("s3cr3t"), false, errors.join("\n"));
  });
}

for (const text of ['a: "x', "a: [1, 2", "a: {b: 1", '{"a": [1, 2}', "a: *gone\n", "? [a\n"]) {
  Deno.test(`parseManifest refuses ${JSON.stringify(text)} with a place`, () => {
    const { documents, errors } = parse(text);
    deepEqual(documents, []);
    ok(errors.length > 0);
    for (const error of errors) match(error, /^f\.yaml:\d+:\d+: \S/);
  });
}

Deno.test("parseManifest gives an undefined alias the place where it stands", () => {
  match(parse("a: 1\nb:\n  c: *gone\n").errors[0] ?? "", /^f\.yaml:3:6: /);
});

Deno.test("parseManifest reports the errors of every document and keeps the good ones", () => {
  const { documents, errors } = parse("a: 1\na: 2\n---\nb: 1\n---\nc: @\n");
  deepEqual(documents.map((one) => one.value), [{ b: 1 }]);
  deepEqual(errors.map((one) => one.split(": ")[0]), ["f.yaml:2:1", "f.yaml:6:4"]);
});

const VALUES: readonly [what: string, text: string, values: readonly unknown[]][] = [
  ["nothing", "", []],
  ["blank lines", "\n\n  \n", []],
  ["a comment", "# only\n", []],
  ["a document end", "a: 1\n...\n", [{ a: 1 }]],
  ["a leading separator", "---\na: 1\n", [{ a: 1 }]],
  ["several documents", "a: 1\n---\na: 2\n---\na: 3", [{ a: 1 }, { a: 2 }, { a: 3 }]],
  ["a comment after the first separator", "---\n# c\na: 1\n", [{ a: 1 }]],
  ["JSON documents", '{"a":1}\n---\n{"a":2}\n', [{ a: 1 }, { a: 2 }]],
  ["one long JSON line", `{"a":"${"x".repeat(100_000)}"}`, [{ a: "x".repeat(100_000) }]],
  ["CR LF and a byte order mark", "\uFEFFa: 1\r\n---\r\na: b\r\n", [{ a: 1 }, { a: "b" }]],
  ["aliases", "a: &x {b: 1}\nc: *x\n", [{ a: { b: 1 }, c: { b: 1 } }]],
  ["a block text", "a: |\n  x\n  y\n", [{ a: "x\ny\n" }]],
  ["YAML 1.2 words as text", "a: yes\nb: on\nc: 1:30\nd: 0123", [
    { a: "yes", b: "on", c: "1:30", d: 123 },
  ]],
];

for (const [what, text, values] of VALUES) {
  Deno.test(`parseManifest reads ${what}`, () => {
    const manifest = parse(text);
    deepEqual(manifest.errors, []);
    deepEqual(manifest.documents.map((one) => one.value), values);
  });
}

/** Editors and generators write these; they hold no document. */
for (
  const [what, text] of [
    ["a trailing separator", "a: 1\n---\n"],
    ["a trailing separator and a comment", "a: 1\n---\n# the end\n"],
    ["a comment between two separators", "---\n# header\n---\na: 1\n"],
    ["two separators in a row", "---\n---\na: 1\n"],
  ] as const
) {
  Deno.test(`parseManifest leaves out the empty document of ${what}`, () => {
    deepEqual(parse(text).documents.map((one) => one.value), [{ a: 1 }]);
  });
}

Deno.test("parseManifest makes __proto__ an own key and no prototype", () => {
  const value = parse("__proto__:\n  x: 1\n").documents[0]?.value as Record<string, unknown>;
  ok(Object.hasOwn(value, "__proto__"));
  equal(Object.getPrototypeOf(value), Object.prototype);
  equal(value["x"], undefined);
});

/** Ten references to the level below on each of nine levels: a billion items. */
const LAUGHS = [
  "a: &a [x,x,x,x,x,x,x,x,x,x]",
  ...[..."bcdefghi"].map((name, i) => `${name}: &${name} [${Array(10).fill(`*${"abcdefgh"[i]}`)}]`),
].join("\n");

for (
  const [what, text] of [
    ["a billion laughs", LAUGHS],
    ["ten thousand aliases", `a: &a [x]\nb: [${Array(10_000).fill("*a").join(",")}]`],
    [
      "an alias per document and mapping",
      `a: &a {k: v}\n${Array.from({ length: 5000 }, (_, i) => `k${i}: *a`).join("\n")}`,
    ],
  ] as const
) {
  Deno.test(`parseManifest refuses ${what}`, () => {
    const { documents, errors } = parse(text);
    deepEqual(documents, []);
    match(errors.join("\n"), /alias/i);
  });
}

Deno.test("parseManifest survives a value that holds itself", () => {
  const { documents } = parse("&a\nkind: Project\nmetadata: {name: a}\nspec: *a\n");
  for (const document of documents) {
    const { resource, findings } = readDocument(document.value, { kinds });
    equal(resource, undefined);
    doesNotThrow(() => findings.map((finding) => formatFinding(document, finding)));
  }
});

/** Hostile texts: each has to be read, or refused, within seconds and in few words. */
const HOSTILE: readonly [what: string, text: string][] = [
  ["100,000 open brackets", "[".repeat(100_000)],
  ["100,000 open braces", "{".repeat(100_000)],
  ["100,000 closing braces", "}".repeat(100_000)],
  ["20,000 nested lists", "- ".repeat(20_000) + "x"],
  ["20,000 nested keys", "? ".repeat(20_000) + "x"],
  ["50,000 tags", "!a ".repeat(50_000)],
  ["50,000 anchors", "&a ".repeat(50_000)],
  ["50,000 colons", ": ".repeat(50_000)],
  ["20,000 separators", "---\n".repeat(20_000)],
  ["5,000 equal keys in a line", `{${"k: v,".repeat(5000)}}`],
  ["5,000 equal keys", "k: v\n".repeat(5000)],
  ["20,000 keys", Array.from({ length: 20_000 }, (_, i) => `k${i}: v\n`).join("")],
  ["a key of a million characters", "k".repeat(1_000_000) + ": v\n"],
  ["NULs", "\0".repeat(1000)],
  ["escapes that never end", '"' + "\\".repeat(99_999)],
  ["a directive", "%YAML 9.9\n---\na: 1\n"],
  ["half a surrogate pair", 'a: "\ud800"\nb: \udc00\n'],
];

for (const [what, text] of HOSTILE) {
  Deno.test(`parseManifest answers ${what} in time`, () => {
    const start = cpuMs();
    parse(text);
    const took = cpuMs() - start;
    ok(took < 4000, `took ${took.toFixed(0)} ms, in which nothing else runs`);
  });
}

Deno.test("parseManifest says at most 1,000 things about one text", () => {
  const { errors } = parse("}".repeat(60_000));
  ok(errors.length <= 1000, `${errors.length} lines`);
});

// deno-fmt-ignore
const PIECES = [
  ..."abk01 \t\n\r:-?,[]{}#&*!|>'\"%@`~=<.\\\0\uFEFF\u2028é😀",
  "\n---\n", "...", "<<: ", "*a", "&a ", "!!set ", "!!binary ", "|2\n ", "\n  ", ": ", "- ",
  "kind: ", "Trigger", "metadata: ", "name: ", "spec: ", "data: ", "null", ".nan", "0x1f",
  "__proto__: ", "constructor: ", "%YAML 1.1\n---\n", "{{ payload }}", "steps: ", "1e999",
];

/** Reads `text` as an apply does, and shows everything there is to say. */
function readAll(text: string): void {
  const { documents, errors, warnings } = parse(text);
  for (const line of [...errors, ...warnings]) match(line, /^f\.yaml:\d+:\d+: /);
  for (const document of documents) {
    const { findings, resource } = readDocument(document.value, { kinds });
    const lines = findings.map((finding) => formatFinding(document, finding));
    for (const line of lines) match(line, /^f\.yaml:\d+:\d+: /);
    equal(resource === undefined, findings.some((finding) => finding.level === "error"));
  }
}

const TEXTS = times(4000, 500);

Deno.test(`parseManifest and readDocument never throw on random text${TEXTS.inName}`, () => {
  const random = new Random(1);
  for (let round = 0; round < TEXTS.count; round++) {
    const length = random.below(60);
    const pick = () => PIECES[random.below(PIECES.length)];
    const text = Array.from({ length }, pick).join("");
    doesNotThrow(() => readAll(text), JSON.stringify(text));
  }
});

const GOOD = `kind: Trigger
metadata: {name: push, labels: {a: b}}
spec:
  event:
    source: webhook
    webhook: {secret: {fromRef: s}}
    filter: {condition: payload_ref == "x"}
  action: {workflow: w, workspace: ws}
---
kind: Workflow
metadata: {name: w}
spec:
  steps:
    - {id: a, run: "echo $X", env: {X: "{{ payload_ref }}", Y: {fromSecret: {store: s, key: k}}}}
---
kind: SecretStore
metadata: {name: s}
spec: {data: {k: abcdefgh}}
`;

const DAMAGES = times(2000, 250);

Deno.test(`parseManifest and readDocument never throw on a damaged manifest${DAMAGES.inName}`, () => {
  const random = new Random(2);
  doesNotThrow(() => readAll(GOOD));
  for (let round = 0; round < DAMAGES.count; round++) {
    let text = GOOD;
    for (let damage = 0; damage < 3; damage++) {
      const at = random.below(text.length);
      const piece = PIECES[random.below(PIECES.length)] ?? "";
      text = text.slice(0, at) + piece + text.slice(at + random.below(6));
    }
    doesNotThrow(() => readAll(text), JSON.stringify(text));
  }
});

Deno.test("formatFinding joins place, path and message", () => {
  const document = parse("a:\n  - b: 1\n").documents[0];
  ok(document !== undefined);
  equal(formatFinding(document, errorAt(["a", 0, "b"], "No")), "f.yaml:2:5: a.0.b: No");
  equal(formatFinding(document, errorAt([], "No")), "f.yaml:1:1: No");
});

Deno.test("toYaml writes what parseManifest reads back", () => {
  const values: readonly unknown[] = [
    { a: "yes", b: "0123", c: "1e5", d: "null", e: "~", f: "", g: " x ", h: "a: b", i: "#" },
    {
      text: "line\nline\n",
      long: "word ".repeat(100),
      tab: "\t",
      quote: "'\"",
      at: "@x",
      star: "*a",
    },
    { list: [1, 1.5, true, null, [], {}], "": 1, "a b": 2, "__proto_": 3 },
    { same: [{ x: 1 }], dashes: "---", dots: "...", doc: "a\n---\nb", nul: "\0", bom: "\uFEFF" },
  ];
  for (const value of values) deepEqual(parse(toYaml(value)).documents[0]?.value, value);
});

Deno.test("wrong indentation: the message tells a list from a mapping by the library's text", () => {
  const wrong = (text: string) => parse(text).errors.map((error) => error.split("\n")[0]);
  const where = (parts: string) =>
    `The indentation is wrong: all ${parts} begin in the same column`;
  deepEqual(wrong("a:\n  - b: 1\n   - c: 1\n"), [`f.yaml:3:4: ${where("items of a list")}`]);
  deepEqual(wrong("a:\n    b: 1\n  c: 1\n"), [`f.yaml:3:3: ${where("fields of a mapping")}`]);
});

Deno.test("a message of the library is shown without the text that it quotes", () => {
  for (
    const text of ["a: |hunter2\n  x\n", "a: !!hunter2 1\n"]
  ) {
    const { errors, warnings } = parse(text);
    const messages = [...errors, ...warnings].map((line) => line.split("\n")[0] ?? "");
    ok(messages.length > 0, text);
    for (const message of messages) ok(!message.includes("hunter2"), message);
  }
});
