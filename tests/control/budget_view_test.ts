/**
 * What `svc get budgets` lists.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import {
  listBudgets,
  standingBudgets,
  usedRatio,
} from "../../src/control/resources/budget_view.ts";
import { budgetsOfRun } from "../../src/resources/budgets_in_force.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { followBudgets } from "../../src/tasks/run/budget_changes.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import { createLog } from "../../src/base/log.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { tempStore } from "../helpers/temp_store.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";

const MANIFESTS = `
kind: Agent
metadata: {name: claude}
spec:
  command: claude --print
  timeout: 60
  budget: [{runs: 40, per: day}, {usd: 2, per: day, perRun: 1.5}]
---
kind: Project
metadata: {name: other}
spec: {budget: [{tokens: 1000, per: month, perRun: 10}], onBudget: fail}
`;

Deno.test("each budget says what is used, set aside, unknown, and when it resets", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  const clock = new ManualClock();
  const now = clock.now();
  const catalog = new Catalog();
  catalog.change(manifestResources(MANIFESTS).map((resource) => ({ op: "put", resource })));
  const host = { store, clock, catalog };
  const empty = await listBudgets({ what: "budgets" }, host);
  deepEqual(empty.items.map(({ of, spent }) => [of, spent]), [
    ["agent/claude", 0],
    ["agent/claude", 0],
    ["project/other", 0],
  ]);
  for (const n of [1, 2, 3]) await accept(store, n);
  await store.claimTasks(9, now);
  const budgets = budgetsOfRun(catalog, { project: "default", agent: "claude", trigger: "" }, now);
  const start = (n: number) => {
    const place = { taskId: taskIdOf(n), position: 0, project: "default", now };
    return store.takeTurn({ ...place, agents: [{ name: "claude", budgets }], run: `${n}` });
  };
  await start(1);
  const ended = { taskId: taskIdOf(1), position: 0, project: "default", run: "1", now };
  await store.settleRun({ ...ended, usage: { usd: 300_000 } });
  await start(2);
  await start(3);
  const { items, names, columns, rows } = await listBudgets(
    { what: "budget", name: "claude" },
    host,
  );
  deepEqual(names, ["budget/agent/claude", "budget/agent/claude"]);
  const { starts_at, resets_at, ...usd } = items[1] ?? {};
  deepEqual(usd, {
    of: "agent/claude",
    project: "default",
    unit: "usd",
    per: "day",
    limit: 2,
    per_run: 1.5,
    granted: 0,
    spent: 0.3,
    reserved: 1.5,
    used_ratio: 0.15,
    unknown_runs: 0,
    running: 1,
    waiting: 1,
    on_budget: "wait",
  });
  match(`${starts_at} ${resets_at}`, /T00:00:00.000Z .*T00:00:00.000Z$/);
  deepEqual(columns.map(({ header }) => header).slice(0, 7), [
    "OF",
    "LIMIT",
    "USED",
    "RESERVED",
    "UNKNOWN",
    "WAITING",
    "RESETS",
  ]);
  deepEqual(rows[1]?.slice(0, 6), ["agent/claude", "2 usd per day", "0.30 (15%)", "1.50", "", "1"]);
  await rejects(listBudgets({ what: "budgets", name: "nobody" }, host), { code: "not_found" });
  await rejects(listBudgets({ what: "budgets", state: "failed" }, host), { code: "usage" });
  deepEqual((await listBudgets({ what: "budgets", project: "other" }, host)).items.length, 1);
  await clock.advance(86_400_000);
  const next = await standingBudgets(host);
  deepEqual(next.map(({ spent, reserved }) => [spent, reserved]), [[0, 0], [0, 0], [0, 0]]);
  deepEqual(next.map(usedRatio), [0, 0, 0]);
});

Deno.test("what people have allowed counts as the limit, and that they said no is shown", async () => {
  const clock = new ManualClock();
  const now = clock.now();
  const catalog = new Catalog();
  const ask = 'onBudget: {ask: {by: ["@ops"]}}';
  const text = `
kind: Agent
metadata: {name: claude}
spec: {command: claude --print, budget: [{runs: 2, per: day}, {runs: 20, per: month}], ${ask}}
`;
  catalog.change(manifestResources(text).map((resource) => ({ op: "put", resource })));
  const [day, month] = budgetsOfRun(
    catalog,
    { project: "default", agent: "claude", trigger: "" },
    now,
  );
  const use = { spent: 3, unknown: 0, reserved: 0, running: 0, waiting: 0 };
  const uses = [day, month].flatMap((one) =>
    one === undefined ? [] : [{
      ...use,
      ...one,
      ...one === day ? { granted: 2 } : { granted: 0, refused: "more was rejected by ada" },
    }]
  );
  const store = { listBudgetUse: () => Promise.resolve(uses) };
  const { items, rows } = await listBudgets({ what: "budgets" }, { store, clock, catalog });
  deepEqual(
    items.map((one) => [one["on_budget"], one["asks"], one["granted"], one["refused"]]),
    [["ask", ["@ops"], 2, undefined], ["ask", ["@ops"], 0, "more was rejected by ada"]],
  );
  deepEqual(rows.map((row) => row.slice(1, 3)), [
    ["2 runs per day +2", "3 (75%)"],
    ["20 runs per month, no more", "3 (15%)"],
  ]);
});

Deno.test("when a budget is applied, the steps of its project that wait for one ask again", () => {
  const asked: string[] = [];
  const catalog = new Catalog();
  const clock = new ManualClock();
  const log = createLog({ level: "error", format: "json", clock, write() {} });
  const events = new EventHub<DaemonEvents>(log);
  using _following = followBudgets({
    catalog,
    events,
    clock,
    log,
    store: { askBudgetsAgain: (project) => Promise.resolve(void asked.push(project)) },
  });
  const apply = (text: string) => {
    catalog.change(manifestResources(text).map((resource) => ({ op: "put", resource })));
    events.publish("resourcesChanged", undefined);
  };
  apply(MANIFESTS);
  deepEqual(asked.splice(0), ["default", "other"]);
  apply("kind: Agent\nmetadata: {name: codex}\nspec: {command: codex exec}\n");
  equal(asked.length, 0, "nothing of a budget");
  apply(MANIFESTS.replace("usd: 2", "usd: 3"));
  deepEqual(asked, ["default"]);
});
