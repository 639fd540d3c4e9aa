/**
 * `budget` of Agents, Triggers and Projects: what is refused, and which budgets bound a run.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { amountText } from "../../src/resources/budget.ts";
import { allBudgets, budgetsOfRun } from "../../src/resources/budgets_in_force.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { readDocument } from "../../src/resources/read.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";

const NOON = Date.parse("2026-07-14T12:00:00Z");

/** The errors of an Agent with these fields. */
function errorsOf(fields: object): string[] {
  const value = {
    kind: "Agent",
    metadata: { name: "claude" },
    spec: { command: "run", timeout: 60, sandbox: "none", ...fields },
  };
  const { findings } = readDocument(value, { kinds: new Catalog().kinds });
  return findings.filter(({ level }) => level === "error")
    .map(({ path, message }) => `${path.slice(1).join(".")}: ${message}`);
}

const budget = (...budget: readonly object[]) => ({ budget });

for (
  const good of [
    budget({ runs: 40, per: "day" }, { usd: 20, per: "day", perRun: 0.5 }),
    budget({ runs: 1, per: "hour" }, { runs: 5, per: "week" }),
    budget({ tokens: 1_000_000, per: "month", perRun: 50_000, timezone: "Europe/Berlin" }),
    { ...budget({ usd: 0.5, per: "day", perRun: 0.5 }), onBudget: "fail" },
    { ...budget({ runs: 1, per: "day" }), onBudget: { ask: { by: ["ada", "@ops", "socket"] } } },
    { ...budget({ runs: 1, per: "day" }), onBudget: { ask: { by: ["@ops"], timeout: "2h" } } },
  ]
) {
  Deno.test(`accepted: ${JSON.stringify(good)}`, () => deepEqual(errorsOf(good), []));
}

const BAD: readonly [fields: object, error: RegExp][] = [
  [budget({ usd: 20, per: "day" }), /^budget\.0: A budget of usd needs perRun/],
  [budget({ tokens: 20, per: "day" }), /^budget\.0: A budget of tokens needs perRun/],
  [
    budget({ usd: 0.4, per: "day", perRun: 0.5 }),
    /^budget\.0\.perRun: The budget of 0\.4 usd is below its perRun of 0\.5/,
  ],
  [budget({ runs: 4, per: "day", perRun: 1 }), /^budget\.0\.perRun: A run counts as one run/],
  [budget({ tokens: 9, per: "day", perRun: 1.5 }), /^budget\.0\.perRun: Tokens are whole/],
  [budget({ per: "day" }), /^budget\.0: A budget has one of runs, tokens, usd: found none/],
  [budget({ runs: 1, usd: 3, per: "day", perRun: 1 }), /found runs and usd/],
  [budget({ runs: 1, per: "day", timezone: "Mars/Base" }), /^budget\.0\.timezone: "Mars\/Base"/],
  [
    budget({ runs: 1, per: "day" }, { runs: 9, per: "day" }),
    /^budget\.1: There are two budgets of runs per day/,
  ],
  [{ onBudget: "wait" }, /^onBudget: There is no budget for it/],
  [budget(), /^budget/],
  [budget({ runs: 0, per: "day" }), /^budget\.0\.runs/],
  [budget({ runs: -1, per: "day" }), /^budget\.0\.runs/],
  [budget({ usd: 1, per: "day", perRun: 0 }), /^budget\.0\.perRun/],
  [budget({ runs: 1, per: "year" }), /^budget\.0\.per/],
  [budget({ runs: 1 }), /^budget\.0/],
  [{ ...budget({ runs: 1, per: "day" }), onBudget: "ask" }, /^onBudget: .*wait, fail/],
  [{ onBudget: { ask: { by: ["@ops"] } } }, /^onBudget: There is no budget for it/],
  ...([
    [{}, /^onBudget: Missing field "ask"/],
    [{ ask: {} }, /^onBudget\.ask.*by/],
    [{ ask: { by: [] } }, /^onBudget\.ask\.by/],
    [{ ask: { by: "@ops" } }, /^onBudget\.ask\.by/],
    [{ ask: { by: ["Ada!"] } }, /^onBudget\.ask\.by\.0: .*the name of a Person/],
    [{ ask: { by: ["ada", "ada"] } }, /^onBudget\.ask\.by/],
    [{ ask: { by: ["github:write"] } }, /^onBudget\.ask\.by\.0/],
    [{ ask: { by: ["@ops"], need: 2 } }, /^onBudget\.ask.*need/],
    [{ ask: { by: ["@ops"], timeout: "soon" } }, /^onBudget\.ask\.timeout/],
    [{ ask: { by: ["@ops"], timeout: "0s" } }, /^onBudget\.ask\.timeout/],
    [{ ask: { by: ["@ops"], timeout: "400d" } }, /^onBudget\.ask\.timeout: A question is open/],
    [{ ask: { by: ["@ops"] }, wait: true }, /^onBudget.*wait/],
  ] as const).map(([onBudget, error]): [object, RegExp] => [
    { ...budget({ runs: 1, per: "day" }), onBudget },
    error,
  ]),
];

for (const [fields, error] of BAD) {
  Deno.test(`refused: ${JSON.stringify(fields)}`, () => {
    const errors = errorsOf(fields);
    ok(errors.some((one) => error.test(one)), errors.join("\n") || "accepted");
  });
}

Deno.test("a run is bounded by its agent, its trigger and its project, as they are now", () => {
  const catalog = new Catalog();
  const resources = manifestResources(`
kind: Project
metadata: {name: default}
spec: {budget: [{usd: 20, per: month, perRun: 0.5}], onBudget: fail}
---
kind: Agent
metadata: {name: claude}
spec: {command: run, timeout: 60, budget: [{runs: 4, per: day, timezone: Asia/Tokyo}]}
---
kind: Agent
metadata: {name: codex}
spec: {command: run, timeout: 60, budget: [{runs: 5, per: day}]}
---
kind: Trigger
metadata: {name: push}
spec:
  event: {source: cron, cron: {schedule: "0 0 * * *"}}
  action: {workflow: ci, workspace: repo}
  budget: [{tokens: 9000, per: hour, perRun: 10}]
`);
  catalog.change(resources.map((resource) => ({ op: "put", resource })));
  const run = { project: "default", agent: "claude", trigger: "push" };
  deepEqual(
    budgetsOfRun(catalog, run, NOON).map(({ scope, unit, limit, perRun, fails, window }) => ({
      what: `${scope} ${unit}`,
      amounts: [limit, perRun],
      fails,
      from: new Date(window.startsAt).toISOString().slice(0, 13),
    })),
    [
      { what: "agent/claude runs", amounts: [4, 1], fails: false, from: "2026-07-13T15" },
      { what: "trigger/push tokens", amounts: [9000, 10], fails: false, from: "2026-07-14T12" },
      { what: "project/default usd", amounts: [2e7, 5e5], fails: true, from: "2026-07-01T00" },
    ],
  );
  deepEqual(budgetsOfRun(catalog, { ...run, project: "other" }, NOON), []);
  deepEqual(
    budgetsOfRun(catalog, { ...run, agent: "none", trigger: "" }, NOON).map(({ scope }) => scope),
    ["project/default"],
  );
  deepEqual(allBudgets(catalog, NOON).map(({ scope }) => scope), [
    "agent/claude",
    "agent/codex",
    "project/default",
    "trigger/push",
  ]);
});

Deno.test("amounts are written as people do", () => {
  deepEqual(
    [amountText(20_000_000, "usd"), amountText(9_900_000, "usd"), amountText(1200, "usd")],
    ["20 usd", "9.90 usd", "0.0012 usd"],
  );
  equal(amountText(7, "tokens"), "7 tokens");
});
