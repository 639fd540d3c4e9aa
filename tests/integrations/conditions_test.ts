/**
 * Conditions of the packages and of the examples, over payloads in which any one field is missing
 * or null: optional fields are left out by some senders, and by those that imitate a platform. Then
 * the condition has to be true or false; an error would filter the event for no reason of its own.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { join } from "node:path";
import { parseJson } from "../../src/base/json.ts";
import { compileExpression, scopeOf } from "../../src/cel/expression.ts";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { parseManifest } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import { ROOT } from "../helpers/program.ts";

/** Files below a directory, by path; none where it is absent. */
function filesBelow(path: string): string[] {
  try {
    return [...Deno.readDirSync(path)].flatMap((entry) =>
      entry.isDirectory ? filesBelow(join(path, entry.name)) : [join(path, entry.name)]
    ).toSorted();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

interface Condition {
  readonly name: string;
  /** Whose payloads it reads: the folder of its fixtures. */
  readonly platform: string;
  readonly source: string;
}

/** A manifest with the values of the fixtures in the place of those that `--with` fills in. */
function filled(text: string): string {
  return text.replaceAll("<your-repository>", "brightwater/tidepool")
    .replace("<your-user-id>", "U4af49806290000000000000000000000");
}

function conditionsIn(folder: string, platformOf: (path: string) => string): Condition[] {
  const kinds = new KindLookup([]);
  return filesBelow(join(ROOT, folder)).filter((path) => path.endsWith(".yaml")).flatMap((path) =>
    parseManifest(path, filled(Deno.readTextFileSync(path))).documents.flatMap(({ value }) => {
      const { resource } = readDocument(value, { kinds });
      if (resource?.kind !== "Trigger") return [];
      const source = (resource.spec as TriggerSpec).event.filter?.condition;
      if (source === undefined) return [];
      return [{ name: resource.name, platform: platformOf(path), source }];
    })
  );
}

const CONDITIONS = [
  ...conditionsIn(
    "integrations",
    (path) => path.slice(join(ROOT, "integrations/").length).split("/")[0] ?? "",
  ),
  ...conditionsIn("docs/examples/workflows", () => "github"),
];

/** Payloads of a platform, by file. */
function payloadsIn(root: string, platform: string): [name: string, payload: unknown][] {
  return filesBelow(join(root, platform)).map((path) => {
    const text = Deno.readTextFileSync(path);
    const payload = path.endsWith(".form")
      ? Object.fromEntries(new URLSearchParams(text))
      : parseJson(text);
    return [path, payload];
  });
}

/** A value without one of its fields or elements, or with null there, for all named in `names`. */
function* variants(
  value: unknown,
  names: ReadonlySet<string>,
  path = "",
): Generator<[string, unknown]> {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    yield [`${path} without elements`, []];
    for (const [change, item] of variants(value[0], names, `${path}[0]`)) {
      yield [change, [item, ...value.slice(1)]];
    }
    return;
  }
  const entries = Object.entries(value);
  for (const [name, inner] of entries) {
    if (!names.has(name)) continue;
    const others = entries.filter(([other]) => other !== name);
    const at = path === "" ? name : `${path}.${name}`;
    yield [`without ${at}`, Object.fromEntries(others)];
    yield [`with ${at} null`, Object.fromEntries([...others, [name, null]])];
    for (const [change, changed] of variants(inner, names, at)) {
      yield [change, Object.fromEntries([...others, [name, changed]])];
    }
  }
}

/** The headers that a condition asks for: they are the sender's, and always there. */
function headersFor(source: string): Record<string, string> {
  return Object.fromEntries(
    [...source.matchAll(/headers\["([^"]+)"\] == "([^"]+)"/g)].map((
      [, name = "", value = ""],
    ) => [name, value]),
  );
}

/** Errors of a condition over these payloads and their variants; how many it found true. */
function examine({ source }: Condition, payloads: readonly (readonly [string, unknown])[]) {
  const expression = compileExpression(source);
  const names = new Set(source.match(/[A-Za-z_]\w*/g));
  const headers = headersFor(source);
  const errors: string[] = [];
  let accepted = 0;
  let examined = 0;
  for (const [name, payload] of payloads) {
    for (const [change, changed] of [["as it is", payload] as const, ...variants(payload, names)]) {
      const result = expression.run(scopeOf({ payload: changed as never, headers }));
      examined++;
      if (!result.ok) errors.push(`${name} ${change}: ${result.error}`);
      else if (typeof result.value !== "boolean") errors.push(`${name} ${change}: no boolean`);
      else if (result.value && change === "as it is") accepted++;
    }
  }
  return { errors, accepted, examined };
}

function named(name: string, payloads: readonly unknown[]): [string, unknown][] {
  return payloads.map((payload) => [name, payload]);
}

Deno.test("the conditions of every package and example are looked at", () => {
  const platforms = new Set(CONDITIONS.map(({ platform }) => platform));
  deepEqual([...platforms].toSorted(), ["github", "gitlab", "line", "slack"]);
  ok(CONDITIONS.length >= 10, `${CONDITIONS.length}`);
});

for (const condition of CONDITIONS) {
  const { name, platform } = condition;
  Deno.test(`the condition of ${name} bears payloads without a field`, () => {
    const payloads = payloadsIn(join(ROOT, "tests/fixtures"), platform);
    const member = JSON.stringify(payloads.map(([, payload]) => payload))
      .replace(/"author_association":"\w+"/g, '"author_association":"MEMBER"');
    const asked = JSON.parse(member, (key, value) => key === "body" ? `/svc ${value}` : value);
    const all = [
      ["nothing", {}],
      ...payloads,
      ...named("of a member", JSON.parse(member)),
      ...named("for an agent", asked),
    ] as const;
    const { errors, accepted, examined } = examine(condition, all);
    deepEqual(errors, []);
    ok(accepted > 0, "some payload meets it");
    ok(examined > all.length, "fields of it are left out");
  });
}

for (const platform of ["github", "line", "slack"]) {
  const shared = Deno.env.get("SVC_SHARED") ?? "";
  const payloads = shared === "" ? [] : payloadsIn(join(shared, "payloads"), platform);
  const title = `the conditions of ${platform} bear every example payload without a field`;
  const why = payloads.length > 0 ? "" : ` (SKIPPED: $SVC_SHARED has no payloads/${platform})`;
  Deno.test({
    name: `${title}${why}`,
    ignore: why !== "",
    fn() {
      for (const condition of CONDITIONS.filter((one) => one.platform === platform)) {
        deepEqual(examine(condition, payloads).errors.slice(0, 5), [], condition.name);
      }
    },
  });
}

/** What Gitea sends, as far as conditions read it: it leaves out what GitHub has. */
const GITEA: readonly (readonly [event: string, payload: unknown])[] = [
  ["push", { ref: "refs/heads/main", after: "e1", commits: [{ id: "e1" }], pusher: { id: 1 } }],
  ["pull_request", { action: "opened", number: 2, pull_request: { id: 9 }, sender: { id: 1 } }],
  ["pull_request", { action: "synchronized", number: 2, pull_request: { id: 9 } }],
  [
    "pull_request_comment",
    { action: "reviewed", number: 2, pull_request: { id: 9 }, review: { type: "x" } },
  ],
  ["issue_comment", { action: "created", issue: { number: 2 }, comment: { id: 7 }, is_pull: true }],
  ["issues", { action: "opened", number: 2, issue: { number: 2 }, sender: { id: 1 } }],
  ["release", { action: "published", release: { id: 3 }, sender: { id: 1 } }],
  ["create", { ref: "v1", ref_type: "tag", sha: "e1" }],
];

Deno.test("the conditions of the package github tell events apart without their header", () => {
  // The agent takes some of the comments that the trigger beside it takes.
  const own = CONDITIONS.filter(({ name }) => /^github-(?!agent)/.test(name));
  const takes: Readonly<Record<string, readonly string[]>> = {
    issues: ["fix"],
    status: ["checks"],
    check_suite: ["fix-ci", "checks"], // what has failed starts the one, and ends waits at the other
  };
  const shared = Deno.env.get("SVC_SHARED") ?? "";
  const files = ["tests/fixtures", ...shared === "" ? [] : [join(shared, "payloads")]]
    .flatMap((folder) => payloadsIn(folder.startsWith("/") ? folder : join(ROOT, folder), "github"))
    .map(([path, payload]) => {
      const [, event = ""] = /github\/([a-z_]+)/.exec(path) ?? [];
      return [event, payload] as const;
    });
  const met = new Set<string>();
  for (const [event, payload] of [...files, ...GITEA]) {
    for (const { name, source } of own) {
      const result = compileExpression(source).run(scopeOf({ payload: payload as never }));
      deepEqual(result.ok ? typeof result.value : result.error, "boolean", `${name}: ${event}`);
      if (!result.ok || result.value !== true) continue;
      const names = takes[event] ?? [event.replaceAll("_", "-")];
      ok(names.includes(name.replace("github-", "")), JSON.stringify(payload).slice(0, 300));
      met.add(name);
    }
  }
  deepEqual([...met].toSorted(), own.map(({ name }) => name).toSorted());
  for (const [event, payload] of GITEA.slice(0, 3)) {
    const isMet = own.some(({ source }) => {
      const result = compileExpression(source).run(scopeOf({ payload: payload as never }));
      return result.ok && result.value === true;
    });
    ok(isMet, `Gitea's ${event}`);
  }
});
