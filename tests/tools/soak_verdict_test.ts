/**
 * The judges of a soak find what they are there for: a soak that cannot fail proves nothing.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { firstIdAt } from "../../src/base/ids.ts";
import { Journal } from "../../tools/soak/journal.ts";
import type { LedgerLine } from "../../tools/soak/ledger.ts";
import { findGrowth, type Life } from "../../tools/soak/memory.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import type { DeliveryRow, Records, TaskRow } from "../../tools/soak/records.ts";
import { Switch } from "../../tools/soak/switch.ts";
import {
  judgeApplies,
  judgeAudit,
  judgePromises,
  judgeSources,
  judgeSteps,
  judgeTasks,
  judgeWorktrees,
} from "../../tools/soak/verdict.ts";

function task(more: Partial<TaskRow> = {}): TaskRow {
  return {
    id: "T1",
    trigger: "quick",
    workflow: "quick",
    state: "succeeded",
    reason: "",
    delivery_id: "D1",
    created_at: 1000,
    started_at: 1000,
    finished_at: 2000,
    restarts: 0,
    parent_id: null,
    retry_of: null,
    directory: null,
    node: "",
    ...more,
  };
}

function delivery(more: Partial<DeliveryRow> = {}): DeliveryRow {
  return {
    id: "D1",
    trigger: "quick",
    outcome: "accepted",
    status: 200,
    task_id: "T1",
    received_at: 1000,
    mark: "m1",
    sent_as: "e1",
    again: "",
    ...more,
  };
}

function records(given: {
  readonly tasks?: readonly TaskRow[];
  readonly deliveries?: readonly DeliveryRow[];
  readonly more?: Partial<Records>;
} = {}): Records {
  const { tasks = [task()], deliveries = [delivery()], more } = given;
  return {
    tasks: new Map(tasks.map((row) => [row.id, row])),
    deliveries: new Map(deliveries.map((row) => [row.id, row])),
    steps: [],
    audit: [],
    sourceEvents: [],
    resources: [],
    minutes: [],
    filesToRemove: new Set(),
    ...more,
  };
}

function line(what: string, more: Partial<LedgerLine> = {}): LedgerLine {
  const base = { task: "T1", step: "one", attempt: 1, pid: 1, trigger: "queue", key: "red" };
  return { what, ...base, ...more };
}

/** What a judge says, without what it says it of. */
function faultsOf(judge: (journal: Journal) => void, journal = new Journal()): string[] {
  judge(journal);
  return journal.faults.map((fault) => fault.slice(0, fault.indexOf(":")));
}

const LOST = "answered as accepted, and its delivery or task is not there";
const UNASKED = "answered otherwise than accepted, and there is a task";

Deno.test("judgePromises finds lost tasks, tasks that were not promised, and events that ran twice", () => {
  const promise = (tasks: readonly string[]) => {
    const journal = new Journal();
    journal.promised.push({ mark: "m1", delivery: "D1", tasks });
    return journal;
  };
  const judge = (given: Records, journal?: Journal) =>
    faultsOf((journal) => judgePromises(given, journal), journal);
  deepEqual(judge(records(), promise(["T1"])), []);
  deepEqual(judge(records({ tasks: [] }), promise(["T1"])), [LOST]);
  deepEqual(judge(records({ deliveries: [], tasks: [] }), promise(["T1"])), [LOST]);
  const refused = new Journal();
  refused.withoutTask.add("m1");
  deepEqual(judge(records(), refused), [UNASKED]);
  const rejected = [delivery({ outcome: "rejected" })];
  deepEqual(judge(records({ deliveries: rejected })), ["not accepted, and there is a task"]);
  const [first = "", second = ""] = [1000, 5000].map((at) => firstIdAt(at).padEnd(26, "0"));
  const twice = (earlier: Partial<TaskRow>, later: Partial<TaskRow> = {}, receivedAt = 5000) =>
    records({
      tasks: [task({ id: first, ...earlier }), task({ id: second, delivery_id: "D2", ...later })],
      deliveries: [
        delivery({ task_id: first }),
        delivery({ id: "D2", task_id: second, received_at: receivedAt }),
      ],
    });
  deepEqual(judge(twice({ state: "succeeded" })), ["events that were run twice"]);
  deepEqual(judge(twice({ state: "failed" })), []);
  deepEqual(judge(twice({ state: "failed", finished_at: 9000 })), ["events that were run twice"]);
  // The delivery that came first was decided last.
  deepEqual(judge(twice({ state: "cancelled" }, { finished_at: 9000 }, 500)), []);
});

Deno.test("judgeTasks finds tasks that never ended, and those interrupted too often or given up too early", () => {
  const judge = (more: Partial<TaskRow>) =>
    faultsOf((journal) => judgeTasks(records({ tasks: [task(more)] }), journal));
  deepEqual(judge({}), []);
  deepEqual(judge({ state: "running", finished_at: null }), ["tasks that have not ended"]);
  deepEqual(judge({ restarts: 5 }), ["tasks interrupted too often"]);
  const early = { state: "failed", reason: "interrupted", restarts: 1 };
  deepEqual(judge(early), ["given up too early"]);
  for (
    const reason of [
      'Workspace "repo" cannot be used: git cannot make a worktree: locked',
      "its worktree was not removed in time",
    ]
  ) deepEqual(judge({ reason }), ["directories that could not be made or removed"]);
});

Deno.test("judgeWorktrees finds what no task records, and notes that outlive their worktrees", async () => {
  await using dir = await tempDir();
  const parent = `${dir.path}/worktrees`;
  await Deno.mkdir(`${parent}/T1`, { recursive: true });
  await Deno.writeTextFile(`${parent}/T1.kept`, "{}");
  const journal = new Journal();
  const judge = async (more: Partial<TaskRow>, filesToRemove: readonly string[] = []) => {
    const given = { tasks: [task(more)], more: { filesToRemove: new Set(filesToRemove) } };
    const before = journal.faults.length;
    await judgeWorktrees(dir.path, records(given), journal);
    return journal.faults.slice(before).map((fault) => fault.split(" in ")[0]);
  };
  const failed = { state: "failed", directory: `${parent}/T1/sub` };
  deepEqual(await judge(failed), []);
  deepEqual(await judge({ ...failed, directory: "/of/another/node/worktrees/T1" }), [
    "worktrees that no task records",
  ]);
  deepEqual(await judge({}), [
    "worktrees that no task records",
    "worktrees of tasks that succeeded",
  ]);
  deepEqual(await judge({}, ["T1"]), []);
  deepEqual(await judge({ state: "failed", reason: "interrupted" }), []);
  await Deno.remove(`${parent}/T1`);
  deepEqual(await judge({}), ["notes without a worktree"]);
  await Deno.remove(`${parent}/T1.kept`);
  await Deno.mkdir(`${parent}/T1`);
  await Deno.mkdir(`${dir.path}/workspaces/repo/.git/worktrees/T2`, { recursive: true });
  deepEqual(await judge(failed), ["worktrees without a note", "worktrees that only git knows"]);
});

Deno.test("judgeSteps finds twins, groups that overlap, repetitions and steps that never ran", () => {
  const judge = (lines: readonly LedgerLine[], deaths: readonly number[] = []) =>
    faultsOf((journal) => {
      const tasks = [task(), task({ id: "T2" })];
      const steps = [{ task_id: "T1", id: "one", state: "succeeded", attempt: 1 }];
      const given = records({ tasks, more: { steps } });
      judgeSteps(given, lines, { deaths: deaths.map((at) => ({ at })), journal });
    });
  const [start, end] = [line("start"), line("end")];
  deepEqual(judge([start, end]), []);
  deepEqual(judge([start, line("twin"), end]), ["steps that met their twin, or their group"]);
  const other = line("start", { task: "T2" });
  deepEqual(judge([start, other, end]), ["groups whose tasks overlap"]);
  deepEqual(judge([start, end, other]), []);
  const again = "steps that ran again though nothing interrupted them";
  deepEqual(judge([start, start, end]), [again]);
  deepEqual(judge([start, start, end], [1500]), []);
  deepEqual(judge([start]), ["steps that succeeded without having run to their end"]);
  deepEqual(judge([start, end, line("end", { task: "T9" })]), [
    "lines of tasks that nobody knows",
  ]);
});

Deno.test("judgeAudit finds runs without a row, rows without an end, and rows of nothing", () => {
  const row = { id: "A1", action: "execute", result: "ok", finished_at: "x", plugin_type: "hook" };
  const judge = (audit: Records["audit"], runs: readonly string[]) =>
    faultsOf((journal) => judgeAudit(records({ more: { audit } }), runs, journal));
  deepEqual(judge([row], ["A1"]), []);
  deepEqual(judge([], ["A1"]), ["plugins that ran without a row"]);
  deepEqual(judge([row], ["A1", "A1"]), ["plugins that ran twice on one row"]);
  deepEqual(judge([row], []), ["rows that say ok, of plugins that never ran"]);
  deepEqual(judge([{ ...row, result: "running" }], ["A1"]), [
    "rows of plugins that were never finished",
  ]);
});

Deno.test("judgeApplies finds refused resources, and halves of an apply", () => {
  const judge = (resources: Records["resources"]) =>
    faultsOf((journal) => judgeApplies(records({ more: { resources } }), journal));
  const half = (name: string, rev: number) => ({
    name,
    spec: JSON.stringify({ env: { REV: rev } }),
  });
  deepEqual(judge([half("pair-a", 1), half("pair-b", 1)]), []);
  deepEqual(judge([half("pair-a", 1), half("pair-b", 2)]), ["halves of an apply"]);
  deepEqual(judge([half("pair-a", 1)]), ["halves of an apply"]);
  deepEqual(judge([half("refused-3", 1)]), ["resources of an apply that was refused"]);
});

Deno.test("judgeSources finds minutes that came twice or never, and ends without a following task", () => {
  const judge = (more: Partial<Records>, tasks: readonly TaskRow[] = []) =>
    faultsOf((journal) => judgeSources(records({ tasks, more }), journal));
  const at = (minute: number) => `2026-01-01T00:0${minute}:00.000Z`;
  deepEqual(judge({ minutes: [at(1), at(2)] }), []);
  deepEqual(judge({ minutes: [at(1), at(1)] }), ["minutes for which the cron trigger fired twice"]);
  deepEqual(judge({ minutes: [at(1), at(3)] }), ["minutes that the cron trigger missed"]);
  const wide = task({ workflow: "wide" });
  const follower = task({ id: "T2", trigger: "after", parent_id: "T1" });
  deepEqual(judge({}, [wide, follower]), []);
  deepEqual(judge({}, [wide]), ["tasks that were not followed by exactly one"]);
  const event = { id: "S1", external_event_id: "E1", reason: "", task_id: "", top_level: 1 };
  deepEqual(judge({ sourceEvents: [{ ...event, state: "received" }] }), [
    "events of Slack that were not routed",
  ]);
});

Deno.test("findGrowth tells growth from a plateau, in a life and over all of them", () => {
  const life = (number: number, ...residentMb: number[]): Life => ({
    number,
    samples: residentMb.map((mb) => ({ residentMb: mb, descriptors: 40 })),
  });
  deepEqual(findGrowth([life(1, 90, 150, 160, 170, 165, 168, 160, 170)]), []);
  const [grew] = findGrowth([life(1, 90, 100, 120, 140, 160, 180, 210, 250)]);
  match(grew ?? "", /^life 1: residentMb grew from 130 to 230$/);
  const lives = [100, 100, 150, 200, 250, 300].map((mb, n) => life(n + 1, mb, mb, mb, mb));
  match(findGrowth(lives)[0] ?? "", /^all lives: residentMb grew from 100 to 275$/);
  const short = [100, 200, 300].map((mb, n) => life(n + 1, mb, mb, mb));
  deepEqual(findGrowth(short), [], "lives of a few seconds say nothing");
});

Deno.test("Switch gives a value only if it was known all the time", async () => {
  const one = new Switch("a");
  const before = one.watch();
  equal(before(), "a");
  await one.change("b", () => Promise.resolve(true));
  equal(before(), undefined);
  equal(one.watch()(), "b");
  await one.change("c", () => Promise.resolve(false));
  deepEqual([one.value, one.watch()()], [undefined, undefined]);
});
