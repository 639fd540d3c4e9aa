/**
 * Which check runs of a commit count where a workflow of GitHub Actions has run more than once for it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { JsonObject } from "../../src/base/json.ts";
import { checksOfSuites, newerSuites } from "../../src/connections/github/check_suites.ts";

type Items = readonly JsonObject[];

const suite = (id: number, more: JsonObject = {}): JsonObject => ({
  id,
  status: "completed",
  conclusion: "success",
  app: { id: 15368, slug: "github-actions", name: "GitHub Actions" },
  ...more,
});
const run = (name: string, of: number, more: JsonObject = {}): JsonObject => ({
  name,
  status: "completed",
  conclusion: "success",
  check_suite: { id: of },
  ...more,
});
const workflow = (id: number, of: number, more: JsonObject = {}): JsonObject => ({
  id,
  check_suite_id: of,
  workflow_id: 1,
  event: "push",
  head_branch: "svc/fix",
  ...more,
});

function shown(suites: Items, runs: Items, workflows: Items = []): readonly string[] {
  const newer = newerSuites(workflows);
  return checksOfSuites(suites, { runs, newer, own: undefined })
    .map(({ name, state, said }) => `${name} ${state} ${said}`);
}

const BAD = { conclusion: "failure" };
const SKIPPED = { conclusion: "skipped" };
const RUNNING = { status: "in_progress", conclusion: null };
const PATTERN = "test (${{ matrix.os }})";

/** What an older and a newer run of a workflow have done, and what counts of both. */
const REPLACED: readonly (readonly [
  what: string,
  older: Items,
  newer: Items,
  found: readonly string[],
  more?: readonly [suite: number, more: JsonObject],
])[] = [
  ["done again", [run("unit", 1, BAD)], [run("unit", 2)], ["unit green success"]],
  ["left out", [run("unit", 1, BAD)], [run("unit", 2, SKIPPED)], [
    "unit red failure",
    "unit green skipped",
  ]],
  [
    "left out, and what sums up passes",
    [run("unit", 1, BAD), run("check", 1, BAD)],
    [run("unit", 2, SKIPPED), run("check", 2)],
    ["unit red failure", "unit green skipped", "check green success"],
  ],
  ["cancelled, and left out", [run("unit", 1, { conclusion: "cancelled" })], [
    run("unit", 2, SKIPPED),
  ], ["unit red cancelled", "unit green skipped"]],
  ["left out while the older one runs", [run("unit", 1, RUNNING)], [run("unit", 2, SKIPPED)], [
    "unit pending in_progress",
    "unit green skipped",
  ], [1, RUNNING]],
  ["done again while the older one runs", [run("unit", 1, RUNNING)], [run("unit", 2)], [
    "unit green success",
  ], [1, RUNNING]],
  ["not done yet", [run("unit", 1, BAD)], [run("lint", 2, SKIPPED)], [
    "lint green skipped",
    "GitHub Actions pending in_progress",
  ], [2, RUNNING]],
  ["of a name that is not there", [run("unit", 1, BAD)], [run("other", 2)], [
    "unit red failure",
    "other green success",
  ]],
  ["one of two of a name left out", [run("unit", 1, BAD), run("unit", 1)], [
    run("unit", 2),
    run("unit", 2, SKIPPED),
  ], ["unit red failure", "unit green success", "unit green success", "unit green skipped"]],
  ["cancelled before it had a name", [run(PATTERN, 1, { conclusion: "cancelled" })], [
    run("test (linux)", 2),
  ], ["test (linux) green success"]],
  ["cancelled before it had a name, and left out", [run(PATTERN, 1, { conclusion: "cancelled" })], [
    run(PATTERN, 2, SKIPPED),
    run("lint", 2),
  ], [`${PATTERN} red cancelled`, `${PATTERN} green skipped`, "lint green success"]],
  ["without any check run", [], [run("unit", 2)], ["unit green success"], [1, {
    conclusion: "cancelled",
  }]],
  ["without any check run, and left out", [], [run("unit", 2, SKIPPED)], [
    "GitHub Actions red cancelled",
    "unit green skipped",
  ], [1, { conclusion: "cancelled" }]],
];

for (const [what, older, newer, expected, [of, more] = [0, {}] as const] of REPLACED) {
  Deno.test(`checks: a newer run of a workflow, and one before: ${what}`, () => {
    const suites = [1, 2].map((id) => suite(id, id === of ? more : {}));
    const workflows = [workflow(11, 1), workflow(12, 2)];
    deepEqual(shown(suites, [...older, ...newer], workflows), expected);
  });
}

Deno.test("checks: a branch of the same name in another repository replaces nothing", () => {
  const of = (id: number, head_repository: JsonObject | null) =>
    workflow(10 + id, id, { event: "pull_request", head_repository });
  const runs = [run("unit", 1, BAD), run("unit", 2)];
  for (const other of [{ id: 8 }, null]) {
    deepEqual(shown([suite(1), suite(2)], runs, [of(1, { id: 7 }), of(2, other)]), [
      "unit red failure",
      "unit green success",
    ]);
  }
});

Deno.test("checks: what has not ended may get more check runs", () => {
  const found = (slug: string) =>
    shown([suite(1, { ...RUNNING, app: { id: 1, slug, name: "CI" } })], [run("unit", 1)]);
  deepEqual(found("github-actions"), ["unit green success", "CI pending in_progress"]);
  deepEqual(found("other"), ["unit green success"], "it may never use its suite");
});
