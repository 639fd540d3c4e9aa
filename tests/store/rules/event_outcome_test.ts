/**
 * What becomes of an event, as tables: the limits of its task and what is stored in, the outcome
 * and what a store has to do out.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { defined } from "../../../src/base/defined.ts";
import {
  type Arrival,
  type DebouncedTask,
  decideOutcome,
  type EarlierEvent,
  type EventAction,
  type EventFacts,
} from "../../../src/store/rules/event_outcome.ts";
import { limitsOf } from "../../../src/store/rules/limits.ts";
import type { NewTask, TaskConcurrency } from "../../../src/store/task_records.ts";
import { admitted } from "../../helpers/admitted.ts";

const NOW = 1_000_000;
const WINDOW = 1000;
/** Other triggers need keys for longer. */
const KEEP = 4000;
const ARRIVAL: Arrival = { receivedAt: NOW, dedupWindowMs: WINDOW, dedupKeepMs: KEEP };

const TASK: NewTask = {
  id: "new",
  project: "default",
  trigger: "push",
  workflow: "ci",
  workspace: "repo",
  plan: { hash: "h", json: "{}" },
};

function decide(task: Partial<NewTask>, known: Partial<EventFacts>, note?: string) {
  const event = admitted({
    outcome: "accepted",
    task: { ...TASK, ...task },
    ...defined({ note }),
  });
  if (event.outcome !== "accepted") throw new Error("It is accepted");
  return decideOutcome(event, ARRIVAL, known);
}

/** The same for a task that misses something, and so has no plan. */
function decideMissing(more: Partial<NewTask>, known: Partial<EventFacts>) {
  const { plan: _none, ...task } = { ...TASK, missing: 'missing: Workflow "ci"', ...more };
  const event = admitted({ outcome: "accepted", task });
  if (event.outcome !== "accepted") throw new Error("It is accepted");
  return decideOutcome(event, ARRIVAL, known);
}

const accepted = (taskId = "new", reason = "") => ({ outcome: "accepted", reason, taskId });
const skipped = (why: string) => ({ outcome: "skipped", reason: `concurrency: ${why}` });
const START: EventAction = { do: "start" };

const DEDUP = { dedupKey: "k" };
const remember = (taskId = "new"): EventAction => ({
  do: "remember-key",
  taskId,
  forgetUpTo: NOW - KEEP,
});
const earlier = (
  state: EarlierEvent["state"],
  receivedAt = NOW - 1,
): Pick<EventFacts, "earlier"> => ({
  earlier: { deliveryId: "d1", receivedAt, taskId: "t1", state },
});

Deno.test("an event without limits and without a key starts its task, and nothing is looked up", () => {
  deepEqual(decide({}, {}), { outcome: accepted(), actions: [START] });
  deepEqual(decide({}, {}, "a note"), { outcome: accepted("new", "a note"), actions: [START] });
});

const DUPLICATES: readonly [what: string, known: Partial<EventFacts>, earlier: string | false][] = [
  ["none came before", { earlier: "none" }, false],
  ["its task waits", earlier("pending"), "1ms"],
  ["its task runs", earlier("running", NOW - WINDOW / 2), "500ms"],
  ["its task succeeded", earlier("succeeded"), "1ms"],
  ["its task failed", earlier("failed"), false],
  ["its task was cancelled", earlier("cancelled"), false],
  ["it came just within the window", earlier("running", NOW - WINDOW + 1), "999ms"],
  ["it came before the window", earlier("running", NOW - WINDOW), false],
  ["it came by a clock that was ahead", earlier("running", NOW + 5), "0ms"],
];

for (const [what, known, before] of DUPLICATES) {
  Deno.test(`an event with a key, ${what}: ${before ? "a duplicate" : "starts"}`, () => {
    const duplicate = {
      outcome: "duplicate",
      reason: `seen before, in delivery d1, which came ${before} earlier`,
      taskId: "t1",
      duplicateOf: "d1",
    };
    deepEqual(
      decide(DEDUP, known),
      before
        ? { outcome: duplicate, actions: [] }
        : { outcome: accepted(), actions: [START, remember()] },
    );
  });
}

const group = (
  policy: TaskConcurrency["policy"],
  max = 1,
): Pick<NewTask, "concurrency"> & object => ({ concurrency: { policy, key: "", max } });

const FORBID: readonly [max: number, unfinished: readonly string[], why: string | undefined][] = [
  [1, [], undefined],
  [1, ["t1"], "task t1 has not ended"],
  [2, ["t1"], undefined],
  [2, ["t1", "t2"], "2 tasks have not ended"],
];

for (const [max, unfinished, why] of FORBID) {
  Deno.test(`Forbid, max ${max}, ${unfinished.length} not over: ${why ?? "starts"}`, () => {
    deepEqual(
      decide(group("Forbid", max), { unfinished }),
      why === undefined
        ? { outcome: accepted(), actions: [START] }
        : { outcome: skipped(why), actions: [] },
    );
  });
}

Deno.test("Queue never turns an event away: where it waits is decided when it is stored", () => {
  deepEqual(decide(group("Queue"), {}), { outcome: accepted(), actions: [START] });
});

const REPLACE: readonly {
  max: number;
  others: readonly string[];
  started?: readonly string[];
  cancels: readonly string[];
  replaces?: readonly string[];
}[] = [
  { max: 1, others: [], cancels: [] },
  { max: 1, others: ["t1"], cancels: ["t1"] },
  { max: 1, others: ["t1"], started: ["t1"], cancels: ["t1"], replaces: ["t1"] },
  { max: 2, others: ["t1"], cancels: [] },
  { max: 2, others: ["t3", "t1", "t2"], started: ["t2"], cancels: ["t1", "t2"], replaces: ["t2"] },
];

for (const { max, others, started = [], cancels, replaces } of REPLACE) {
  Deno.test(`Replace, max ${max}, beside ${others}, of which ${started} run: ends ${cancels}`, () => {
    const replaceable = others.map((id) => ({ id, hasStarted: started.includes(id) }));
    const reason = "replaced by task new";
    deepEqual(decide(group("Replace", max), { replaceable }), {
      outcome: { ...accepted(), ...defined({ replaces }) },
      actions: [
        ...(cancels.length === 0 ? [] : [{ do: "cancel", taskIds: cancels, reason }]),
        START,
      ],
    });
  });
}

const rate = (reject: boolean) => ({ rateLimit: { perMinute: 1, reject } });
const FULL: Pick<EventFacts, "rate"> = { rate: { dueAt: NOW + 60_000, seenAt: NOW } };

Deno.test("rateLimit: within it a task starts at once, and its slot is kept", () => {
  deepEqual(decide(rate(true), { rate: "none" }), {
    outcome: accepted(),
    actions: [{ do: "keep-rate", rate: { dueAt: NOW + 60_000, seenAt: NOW } }, START],
  });
});

Deno.test("rateLimit: what is over it waits, or is refused where the trigger says so", () => {
  deepEqual(decide(rate(false), FULL), {
    outcome: accepted(),
    actions: [
      { do: "keep-rate", rate: { dueAt: NOW + 120_000, seenAt: NOW } },
      { do: "start", runAt: NOW + 60_000 },
    ],
  });
  deepEqual(decide(rate(true), FULL), {
    refused: "Over the rate of 1 tasks a minute",
    retryAfterSecs: 60,
  });
});

const DEBOUNCE = { debounce: { key: "", forMs: 10_000 } };
const waiting = (more: Partial<DebouncedTask> = {}): DebouncedTask => ({
  id: "first",
  readiness: "delayed",
  limits: limitsOf(TASK),
  planHash: "old",
  ...more,
});

Deno.test("debounce: the first event starts a task that waits; a rate may let it wait longer", () => {
  deepEqual(decide(DEBOUNCE, { debounced: "none" }), {
    outcome: accepted(),
    actions: [{ do: "start", runAt: NOW + 10_000 }],
  });
  const both = decide({ ...DEBOUNCE, ...rate(false) }, { debounced: "none", ...FULL });
  deepEqual("actions" in both && both.actions.at(-1), { do: "start", runAt: NOW + 60_000 });
});

const MOVES: readonly [what: string, task: DebouncedTask, more: Partial<NewTask>, move: string][] =
  [
    ["the same limits", waiting(), {}, "stay"],
    ["the same limits, while it is queued", waiting({ readiness: "queuedInGroup" }), {}, "stay"],
    ["another workspace", waiting(), { workspace: "other" }, "later"],
    ["another limit of it", waiting(), { workspaceMax: 5 }, "later"],
    ["another group", waiting(), group("Queue"), "later"],
    ["another group, and has room", waiting({ readiness: "ready" }), group("Queue"), "now"],
    [
      "another group, and waits",
      waiting({ readiness: "queuedInWorkspace" }),
      group("Queue"),
      "now",
    ],
  ];

for (const [what, task, more, move] of MOVES) {
  Deno.test(`debounce: the next event is joined to the task that waits, ${what}: ${move}`, () => {
    deepEqual(decide({ ...DEBOUNCE, ...DEDUP, ...more }, { debounced: task, earlier: "none" }), {
      outcome: accepted("first", "debounced, joined to a pending task"),
      actions: [{ do: "join", task, move }, remember("first")],
    });
  });
}

Deno.test("debounce: a joined event takes no slot of the rate, is not forbidden, and replaces others", () => {
  const debounced = waiting({ limits: limitsOf({ ...TASK, ...group("Replace") }) });
  const replaceable = [{ id: "first", hasStarted: false }, { id: "t1", hasStarted: true }];
  deepEqual(
    decide({ ...DEBOUNCE, ...rate(true), ...group("Replace") }, { debounced, replaceable }, "note"),
    {
      outcome: {
        ...accepted("first", "debounced, joined to a pending task; note"),
        replaces: ["t1"],
      },
      actions: [
        { do: "join", task: debounced, move: "stay" },
        { do: "cancel", taskIds: ["t1"], reason: "replaced by task first" },
      ],
    },
  );
  const forbidding = decide({ ...DEBOUNCE, ...group("Forbid") }, { debounced: waiting() });
  deepEqual("outcome" in forbidding && forbidding.outcome.outcome, "accepted");
});

Deno.test("a task that misses something waits for nothing, joins none, replaces none, and takes its slot", () => {
  const missing = decideMissing({ ...DEBOUNCE, ...group("Replace"), ...rate(false) }, FULL);
  deepEqual(missing, {
    outcome: accepted(),
    actions: [{ do: "keep-rate", rate: { dueAt: NOW + 120_000, seenAt: NOW } }, START],
  });
});

/** Which fact is asked for next, given what is known. */
const QUESTIONS: readonly [task: Partial<NewTask>, known: Partial<EventFacts>, needs: string][] = [
  [DEDUP, {}, "earlier"],
  [{ ...DEDUP, ...DEBOUNCE }, { earlier: "none" }, "debounced"],
  [{ ...DEDUP, ...group("Forbid") }, { earlier: earlier("failed").earlier }, "unfinished"],
  [{ ...rate(true), ...group("Forbid") }, { unfinished: [] }, "rate"],
  [{ ...rate(true), ...group("Replace") }, { rate: "none" }, "replaceable"],
  [{ ...DEBOUNCE, ...group("Replace") }, { debounced: waiting() }, "replaceable"],
];

for (const [task, known, needs] of QUESTIONS) {
  Deno.test(`with ${Object.keys(task)}, knowing ${Object.keys(known)}: ${needs} is needed`, () => {
    deepEqual(decide(task, known), { needs });
  });
}

Deno.test("over the rate, what there is to replace is not even looked for", () => {
  const decision = decide({ ...rate(true), ...group("Replace") }, FULL);
  deepEqual("refused" in decision, true);
});
