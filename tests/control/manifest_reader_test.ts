/**
 * Reading manifests: whatever they hold, the event loop goes on, an end is put to what takes too
 * long, and what is read is the same in a process and outside of it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { defined } from "../../src/base/defined.ts";
import { ManifestReader } from "../../src/control/resources/manifest_reader.ts";
import { writeLauncher } from "../../src/calls/launcher.ts";
import { readManifests } from "../../src/resources/read_manifests.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import { run } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { findFile, processRuns } from "../helpers/until.ts";

/** A test with a reader whose program is this very source; it leaves its process id in a file. */
function test(
  name: string,
  body: (reader: ManifestReader, pidFile: string) => Promise<void>,
  baseMs?: number,
) {
  Deno.test(name, async () => {
    await using temp = await tempDir();
    await using groups = openProcessGroups();
    const [written, program, pidFile] = ["svc", "noting", "pid"].map((name) =>
      join(temp.path, name)
    ) as [string, string, string];
    const dirs = { root: temp.path, bin: temp.path, calls: join(temp.path, "calls") };
    await writeLauncher(dirs, (name) => Deno.env.get(name));
    const launcher = await Deno.readTextFile(written);
    await Deno.writeTextFile(written, launcher.replace("\n", `\necho $$ > ${pidFile}\n`));
    // A file that this process has written is busy while a process that another test starts just
    // then still has it open. `cp` writes another one, in a process that starts none.
    equal((await run("cp", ["-p", written, program])).code, 0);
    using reader = new ManifestReader({
      program,
      groups,
      clock: systemClock,
      ...defined({ baseMs }),
    });
    await body(reader, pidFile);
  });
}

const input = (text: string) => ({ files: [{ name: "m.yaml", text }], crds: [] });

/** What `work` gives; fails unless timers were served meanwhile, again and again. */
async function watched<T>(work: () => Promise<T>): Promise<T> {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  try {
    const result = await work();
    ok(ticks >= 5, `timers were served ${ticks} times`);
    return result;
  } finally {
    clearInterval(timer);
  }
}

/** A CustomResourceDefinition with this schema, and an instance of it. */
function withInstance(schema: unknown, spec: unknown): string {
  const crd = {
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      kind: "Thing",
      plural: "things",
      versions: [{ name: "v1", schema }],
    },
  };
  const instance = { kind: "Thing", metadata: { name: "t" }, spec };
  return `${JSON.stringify(crd)}\n---\n${JSON.stringify(instance)}\n`;
}

/** 2 to the power of 60 ways through alternatives, none of which fits. */
function alternatives(): unknown {
  const $defs: Record<string, unknown> = { d60: { type: "integer" } };
  for (let i = 0; i < 60; i++) {
    const next = { $ref: `#/$defs/d${i + 1}` };
    $defs[`d${i}`] = { anyOf: [next, next] };
  }
  return { type: "object", properties: { x: { $ref: "#/$defs/d0" } }, $defs };
}

const ENDLESS: Readonly<Record<string, readonly [schema: unknown, spec: unknown]>> = {
  "a pattern that backtracks": [
    { type: "object", properties: { x: { type: "string", pattern: "^(a+)+$" } } },
    { x: "a".repeat(40) + "!" },
  ],
  "a pattern for names of fields that backtracks": [
    { type: "object", patternProperties: { "^(a+)+$": {} } },
    { ["a".repeat(40) + "!"]: 1 },
  ],
  "alternatives of alternatives": [alternatives(), { x: "no" }],
};

for (const [what, [schema, spec]] of Object.entries(ENDLESS)) {
  test(`ManifestReader ends ${what}, and reads the next input`, async (reader, pidFile) => {
    const text = withInstance(schema, spec);
    await watched(() =>
      rejects(reader.read(input(text)), { code: "invalid", message: /took longer than 1 second/ })
    );
    const { resources } = await reader.read(input("kind: Project\nmetadata: {name: p}\n"));
    deepEqual(resources.map(({ name }) => name), ["p"]);
    const pid = await findFile(pidFile) ?? ""; // on a busy machine, it may not even have written it
    equal(pid !== "" && await processRuns(Number(pid)), false);
  }, 500);
}

test("ManifestReader does not block other work with 5,000 documents", async (reader) => {
  const text = Array.from({ length: 5000 }, (_, i) => `kind: Project\nmetadata: {name: p${i}}\n`)
    .join("---\n");
  const result = await watched(() => reader.read(input(text)));
  deepEqual([result.resources.length, result.errors], [5000, []]);
});

test("ManifestReader reads the same in a process as outside of it", async (reader) => {
  const text = withInstance({ type: "object", required: ["a"] }, {}) +
    "---\nkind: Trigger\nmetadata: {name: t}\nspec: {event: {source: cron, cron: {schedule: '0 0 * * *'}}, " +
    "action: {workflow: w, workspace: x}}\n---\nkind: SecretStore\nmetadata: {name: s}\nspec: {data: {k: short}}\n";
  const expected = readManifests(input(text));
  const found = await reader.read(input(text));
  deepEqual(found, expected);
  deepEqual(found.resources.map(({ kind }) => kind), [
    "CustomResourceDefinition",
    "Trigger",
    "SecretStore",
  ]);
  deepEqual([found.errors.length, found.mentions.length, found.weakSecrets.length], [1, 2, 1]);
});

test("ManifestReader tells at most some thousand errors", async (reader) => {
  const { errors } = await reader.read(input("kind: Nothing\n---\n".repeat(3000)));
  deepEqual([errors.length, errors.at(-1)], [1001, "and more like these"]);
});

test("ManifestReader takes as many inputs at once as it has room for, and more later", async (reader) => {
  const text = withInstance({ type: "object" }, {});
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, () => reader.read(input(text))),
  );
  const refused = results.filter((one) => one.status === "rejected");
  deepEqual(new Set(refused.map(({ reason }) => reason.code)), new Set(["overloaded"]));
  deepEqual(refused.length, 12);
  deepEqual((await reader.read(input(text))).resources.length, 2);
});

/** What apply says of a schema. */
function saidOf(schema: unknown): readonly string[] {
  return readManifests(input(withInstance(schema, {}))).errors
    .filter((line) => line.includes("schema"));
}

const REFUSED: Readonly<Record<string, readonly [schema: unknown, says: RegExp]>> = {
  "itself": [{ type: "object", $ref: "#" }, /schema\.\$ref: This refers back to itself/],
  "itself, by an alternative": [
    {
      type: "object",
      properties: { x: { anyOf: [{ type: "string" }, { $ref: "#/properties/x" }] } },
    },
    /properties\.x\.anyOf\.1\.\$ref: This refers back to itself/,
  ],
  "itself, by another": [
    { type: "object", $defs: { a: { $ref: "#/$defs/b" }, b: { allOf: [{ $ref: "#/$defs/a" }] } } },
    /\$ref: This refers back to itself/,
  ],
  "a place that is not there": [
    { type: "object", properties: { x: { $ref: "#/$defs/none" } } },
    /properties\.x\.\$ref: This refers to no part of the schema/,
  ],
  "another document": [
    { type: "object", properties: { x: { $ref: "https://example.com/s.json" } } },
    /This refers to no part of the schema/,
  ],
};

for (const [what, [schema, says]] of Object.entries(REFUSED)) {
  Deno.test(`a schema that refers to ${what} is refused`, () => {
    const [line = "", ...more] = saidOf(schema);
    match(line, says);
    deepEqual(more, []);
  });
}

Deno.test("a schema may refer to itself further down, to an anchor and to a schema by its id", () => {
  const tree = {
    type: "object",
    properties: {
      children: { type: "array", items: { $ref: "#" } },
      a: { $ref: "#named" },
      b: { $ref: "urn:example:b" },
      c: { $ref: "#/$defs/always" },
      $ref: { type: "string" },
      d: { const: { $ref: "#/not/a/reference" } },
    },
    $defs: {
      n: { $anchor: "named", type: "string" },
      b: { $id: "urn:example:b", type: "string" },
      always: true,
    },
  };
  deepEqual(saidOf(tree), []);
});
