/** Warnings of `svc apply` about questions that nobody could answer, or too few. */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { answererWarnings } from "../../src/control/resources/answerer_warnings.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";

const resource = (kind: string, name: string, spec: unknown, project = "default"): Resource =>
  ({ kind, name, project, metadata: {}, spec }) as Resource;

const person = (name: string, groups: readonly string[]) =>
  resource("Person", name, { role: "read_only", groups }, "");

const PEOPLE = [person("ada", ["ops", "leads"]), person("bob", ["ops"]), person("eve", [])];

const ship = (approval: Record<string, unknown>) =>
  resource("Workflow", "ship", {
    steps: [{ id: "ok", approval: { ask: "Deploy?", ...approval } }],
  });

const HEAD = 'workflow/ship: step "ok"';

const CASES: readonly [what: string, applied: Resource, warnings: readonly string[]][] = [
  ["a group with people", ship({ by: ["@ops"], need: 2 }), []],
  ["a group of nobody", ship({ by: ["@nobody", "ada"] }), [
    `${HEAD} asks @nobody, and no Person is in that group`,
  ]],
  ["fewer people than answers", ship({ by: ["@leads"], need: 2 }), [
    `${HEAD} needs 2 people, and 1 could answer: add Persons to its groups`,
  ]],
  ["one person by two names", ship({ by: ["@leads", "ada"], need: 2 }), [
    `${HEAD} needs 2 people, and 1 could answer: add Persons to its groups`,
  ]],
  ["a person beside her group", ship({ by: ["@leads", "eve"], need: 2 }), []],
  ["all who may write", ship({ by: ["@leads", "github:write"], need: 5 }), []],
  ["the socket", ship({ by: ["socket"] }), []],
  ["a budget", resource("Agent", "claude", { onBudget: { ask: { by: ["@nobody"] } } }), [
    "agent/claude: onBudget asks @nobody, and no Person is in that group",
  ]],
  ["a budget that fails", resource("Agent", "claude", { onBudget: "fail" }), []],
  ["a kind of one's own", resource("Odd", "x", { onBudget: { ask: {} } }), []],
];

for (const [what, applied, warnings] of CASES) {
  Deno.test(`who could answer: ${what}`, () => {
    deepEqual(answererWarnings([applied], new Catalog([...PEOPLE, applied])), warnings);
  });
}

Deno.test("a diff of a workspace that is no worktree", () => {
  const event = { source: "cron", cron: { schedule: "0 3 * * *" } };
  const start = (name: string, workspace: string) =>
    resource("Trigger", name, { event, action: { workflow: "ship", workspace } });
  const tree = resource("Workspace", "tree", { path: "/t", isolation: "worktree" });
  const home = resource("Workspace", "home", { path: "/h" });
  const asking = ship({ by: ["ada"], diff: true });
  const all = [...PEOPLE, asking, tree, home, start("one", "tree"), start("two", "home")];
  const said = [
    `${HEAD} fails for trigger/two: "diff" shows what a worktree changes, and workspace/home has no ` +
    '"isolation: worktree"',
  ];
  const warn = (...applied: Resource[]) => answererWarnings(applied, new Catalog(all));
  deepEqual(warn(asking), said);
  deepEqual(warn(home), said);
  deepEqual(warn(tree), [], "nothing of it was applied");
});
