/**
 * For what a task waits, in words: the numbers of the workers, and the nodes that are meant.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { type KnownWorkers, whatItWaitsFor } from "../../src/control/records/waits_for.ts";
import type { NodeRecord } from "../../src/store/node_records.ts";
import type { StepRecord, Task, TaskReadiness } from "../../src/store/task_records.ts";

const NOW = Date.parse("2026-07-14T10:00:00.000Z");
const BUSY: KnownWorkers = { now: NOW, own: { workers: 4, busy: 4 } };

function explain(readiness: TaskReadiness, known: Partial<KnownWorkers> = {}) {
  const task = {
    state: "pending",
    project: "default",
    trigger: "review",
    workspace: "app",
    steps: [],
  } as const;
  return whatItWaitsFor({ ...task, readiness }, { ...BUSY, ...known });
}

const textOf = (...args: Parameters<typeof explain>) => explain(...args)?.text;

const ALONE: readonly (readonly [TaskReadiness, string])[] = [
  [
    { is: "queued", in: "group", max: 1, open: 1, first: "01A" },
    "queued behind task/01A (concurrency of trigger review, 1 of 1)",
  ],
  [
    { is: "queued", in: "group", max: 2, open: 2, first: "01A" },
    "queued behind task/01A or 1 other (concurrency of trigger review, 2 of 2)",
  ],
  [
    { is: "queued", in: "workspace", max: 3, open: 3, first: "01A" },
    "queued behind task/01A or 2 others (maxParallel of workspace/app, 3 of 3)",
  ],
  [
    { is: "queued", in: "group", max: 1, open: 0 },
    "queued for room (concurrency of trigger review, 0 of 1)",
  ],
  [
    { is: "delayed", until: NOW + 1000, by: ["debounce"] },
    "delayed by debounce until 2026-07-14T10:00:01.000Z",
  ],
  [
    { is: "delayed", until: NOW + 1000, by: ["debounce", "rateLimit"] },
    "delayed by debounce or rateLimit until 2026-07-14T10:00:01.000Z",
  ],
  [{ is: "delayed", until: NOW, by: ["rateLimit"] }, "waits for a worker (4 of 4 busy)"],
  [{ is: "ready", nodes: ["gpu"] }, "waits for a worker (4 of 4 busy)"],
  [
    { is: "waiting", agent: "claude", for: "seat" },
    "waits for agent claude, whose turns are all taken (maxParallel)",
  ],
  [
    { is: "waiting", until: NOW + 9, agent: "claude", for: "session" },
    "waits for agent claude, which works for another task in this session",
  ],
  [
    { is: "waiting", until: NOW + 1000, agent: "claude", for: "limit" },
    "waits for agent claude, limited until 2026-07-14T10:00:01.000Z",
  ],
  [
    { is: "waiting", until: NOW + 1000, agent: "claude", for: "budget" },
    "waits until 2026-07-14T10:00:01.000Z, when a budget for agent claude resets",
  ],
  [{ is: "waiting", until: NOW + 1000 }, "waits until 2026-07-14T10:00:01.000Z"],
  [
    { is: "waiting", until: NOW, agent: "claude", for: "limit" },
    "waits for a worker (4 of 4 busy)",
  ],
];

for (const [readiness, text] of ALONE) {
  Deno.test(`a task that is ${readiness.is}: ${text}`, () => {
    const isReady = text.startsWith("waits for a worker") && readiness.is !== "waiting";
    const word = isReady ? "ready" : readiness.is === "waiting" ? undefined : readiness.is;
    const found = explain(readiness);
    deepEqual([found?.text, found?.readiness], [text, word]);
  });
}

Deno.test("a ready task waits for room in its project, and for a pause before that", () => {
  const full = { project: "default", max: 5, running: 5 };
  const text = "waits for room in project default: 5 of 5 run (maxParallel)";
  for (const readiness of [{ is: "ready" }, { is: "delayed", until: NOW, by: [] }] as const) {
    const found = explain(readiness, { rooms: [full] });
    deepEqual([found?.text, found?.readiness], [text, "queued"]);
    deepEqual(found?.view, { what: "max_parallel", used: 5, limit: 5 });
  }
  equal(textOf({ is: "waiting", until: NOW }, { rooms: [full] }), text);
  const pause = { project: "", reason: "x", by: "ada", pausedAt: NOW };
  equal(explain({ is: "ready" }, { rooms: [full], pauses: [pause] })?.readiness, "ready");
  const others = [{ ...full, running: 4 }, { ...full, project: "shop" }];
  equal(textOf({ is: "ready" }, { rooms: others }), "waits for a worker (4 of 4 busy)");
});

Deno.test("a task waits for the machine where no task can begin", () => {
  const own = { workers: 4, busy: 1, shortage: "Too many open files" };
  equal(textOf({ is: "ready" }, { own }), "waits for the machine: Too many open files");
});

const node = (name: string, more: Partial<NodeRecord> = {}): NodeRecord => ({
  id: `id-${name}`,
  name,
  isSelf: name === "a",
  isAlive: true,
  isDrained: false,
  running: 2,
  leaseUntil: NOW - 5000,
  facts: { version: "1", policy: "", faults: [], workers: 2, labels: [] },
  ...more,
});
const own = { workers: 3, busy: 2 };
const [a, b] = [node("a"), node("b")];
const gpu = node("c", {
  facts: { version: "1", policy: "", faults: [], workers: 1, labels: ["gpu"] },
});

const AMONG_NODES:
  readonly (readonly [Omit<TaskReadiness & { is: "ready" }, "is">, NodeRecord[], string])[] = [
    [{}, [a], "waits for a worker (2 of 3 busy)"],
    [{}, [a, b], "waits for a worker (4 of 5 busy on a, b)"],
    [{}, [a, { ...b, isDrained: true }], "waits for a worker (2 of 3 busy on a)"],
    [{ nodes: ["gpu"] }, [a, b, gpu], "waits for a worker (2 of 1 busy on c)"],
    [{ nodes: ["b"] }, [a, b], "waits for a worker (2 of 2 busy on b)"],
    [{ nodes: ["gpu", "tpu"] }, [a, b], "waits for a node named gpu or tpu: the nodes are a, b"],
    [{ nodes: ["b"] }, [a, { ...b, isDrained: true }], "waits for node b, drained"],
    [
      { nodes: ["b"] },
      [a, { ...b, isAlive: false }],
      "waits for node b, gone since 2026-07-14T09:59:55.000Z",
    ],
    [{ onlyNode: "id-b" }, [a, { ...b, isDrained: true }], "waits for node b, drained"],
    [
      {},
      [{ ...a, isDrained: true }, { ...b, isAlive: false }],
      "waits for node a, drained; or b, gone since 2026-07-14T09:59:55.000Z",
    ],
    [
      { nodes: ["gpu"] },
      [a, node("old", { facts: { version: "", policy: "", faults: [] } })],
      "waits for a worker (2 busy on old)",
    ],
  ];

for (const [meant, nodes, text] of AMONG_NODES) {
  Deno.test(`a task among ${nodes.length} nodes: ${text}`, () => {
    equal(textOf({ is: "ready", ...meant }, { own, nodes }), text);
  });
}

Deno.test("a running task of which no step runs says when the next attempt is made", () => {
  const step = (given: Partial<StepRecord>): StepRecord => ({
    position: 0,
    id: "build",
    state: "pending",
    reason: "",
    ...given,
  });
  const reason = "attempt 1 of 3: exit code 1, the next one at 2026-07-14T10:00:01.000Z";
  const paused = step({ reason, startedAt: NOW, attempt: 2 });
  const of = (...steps: StepRecord[]) => {
    const task: Pick<Task, "state" | "project" | "trigger" | "workspace" | "steps"> = {
      state: "running",
      project: "default",
      trigger: "review",
      workspace: "app",
      steps,
    };
    return whatItWaitsFor(task, BUSY);
  };
  deepEqual(of(step({ state: "succeeded" }), paused), {
    text: `step build: ${reason}`,
    view: { what: "retry", step: "build" },
  });
  equal(of(paused, step({ state: "running" })), undefined, "another one runs");
  equal(of(step({})), undefined, "none has begun");
});
