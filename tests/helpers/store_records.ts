/**
 * Records to fill a store with. Only this file knows every field of a delivery and of a task.
 *
 * @module
 */

import { defined } from "../../src/base/defined.ts";
import type { DeliveryFacts, EventOutcome, NewDelivery } from "../../src/store/delivery_records.ts";
import type { DeliveryRecorder } from "../../src/store/delivery_store.ts";
import type { TaskCounter, TaskRecorder, TaskStore } from "../../src/store/task_store.ts";
import type { NewTask, RetryOf, StepRecord, Task } from "../../src/store/task_records.ts";
import { admitted } from "./admitted.ts";

/** An id that sorts as its number does. */
export function idOf(n: number): string {
  return `01HZZZZZZZZZZZZZZZZZ${String(n).padStart(6, "0")}`;
}

/**
 * The id of the task of delivery `n`. Its first ten digits are its time, as of any id: tasks are
 * claimed in the order of that. Processes of tasks are found by it on the whole machine, so each
 * test file has ids of its own: others may be running beside it.
 */
export function taskIdOf(n: number): string {
  const digits = String(n).padStart(6, "0");
  return `01J0${digits}${OWN}${digits}`;
}

const OWN = crypto.randomUUID().replaceAll("-", "").toUpperCase().slice(0, 10);

/** Steps of the plan every test task has. */
export const STEPS = ["build", "deploy"];

/** Fields in which an accepted delivery differs from the usual. */
export interface Accepted {
  readonly project?: string;
  readonly trigger?: string;
  readonly receivedAt?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Exact JSON for the steps, where that is not the body. */
  readonly payload?: Uint8Array;
  /** The plan; `undefined` for a task that misses something. */
  readonly plan?: { readonly hash: string; readonly json: string } | undefined;
  readonly taskId?: string;
  /** Further fields of the task. */
  readonly task?: Partial<NewTask>;
  /** Whether the id of the delivery names the event. */
  readonly once?: boolean;
  /** Up to where its schedule has been looked at. */
  readonly cursor?: NewDelivery["cursor"];
  /** Version of the resources by which it was decided. */
  readonly resourceVersion?: number;
}

/** The plan of every test task. */
export const PLAN = {
  hash: "h1",
  json: JSON.stringify({ steps: STEPS.map((id) => ({ id })), workspace: { path: "/srv/repo" } }),
};

/** Stores delivery `n` and task `n`; returns the result. */
export async function accept(
  store: Pick<DeliveryRecorder, "recordDelivery">,
  n: number,
  given: Accepted = {},
): Promise<EventOutcome | undefined> {
  const [outcome] = await recordWith(store, n, given, [eventOf(n, given)]);
  return outcome;
}

/** Stores delivery `n` with several events; their tasks are those of these numbers. */
export function acceptBatch(
  store: DeliveryRecorder,
  n: number,
  { tasks, ...given }: Accepted & { readonly tasks: readonly number[] },
): Promise<readonly EventOutcome[]> {
  return recordWith(store, n, given, tasks.map((task) => eventOf(task, given)));
}

/** The event of task `n`, which passed its filter. */
export function eventOf(n: number, given: Accepted): NewDelivery["events"][number] {
  const taskId = given.taskId ?? taskIdOf(n);
  const plan = "plan" in given ? given.plan : PLAN;
  const { project = "default", trigger = "push" } = given;
  const task: NewTask = {
    id: taskId,
    project,
    trigger,
    workflow: "ci",
    workspace: "repo",
    ...(plan === undefined ? { missing: 'missing: Workflow "ci"' } : { plan }),
    ...defined({ payload: given.payload }),
    ...given.task,
  };
  return admitted({ outcome: "accepted", task });
}

/** Stores delivery `n`, which its filter held back. */
export async function filterOut(store: DeliveryRecorder, n: number): Promise<void> {
  const reason = "the condition is false";
  await recordWith(store, n, { body: new TextEncoder().encode("{}") }, [
    admitted({ outcome: "filtered", reason }),
  ]);
}

/** Stores refused requests, keeping the newest `keep` of each trigger. */
export async function reject(
  store: DeliveryRecorder,
  rejected: readonly {
    readonly n: number;
    readonly trigger?: string;
    readonly outcome?: "rejected" | "handshake";
    /** Keeps its content, with these. */
    readonly headers?: Readonly<Record<string, string>>;
  }[],
  keep: number,
): Promise<void> {
  await store.recordRejections(
    rejected.map(({ n, trigger = "push", outcome = "rejected", headers }) => ({
      delivery: {
        ...record(n, { trigger, body: new Uint8Array(7) }),
        outcome,
        status: 401,
        reason: "no_key_matches",
        taskId: "",
      },
      ...(headers === undefined ? {} : { content: { headers, body: new Uint8Array(7), url: "" } }),
    })),
    { records: keep, contents: keep },
  );
}

function recordWith(
  store: Pick<DeliveryRecorder, "recordDelivery">,
  n: number,
  given: Accepted,
  events: NewDelivery["events"],
): Promise<readonly EventOutcome[]> {
  return store.recordDelivery(newDelivery(n, given, events));
}

/** Delivery `n` with these events. */
export function newDelivery(
  n: number,
  given: Accepted,
  events: NewDelivery["events"],
): NewDelivery {
  const body = given.body ?? new TextEncoder().encode(`{"n":${n}}`);
  return {
    delivery: record(n, { ...given, body }),
    content: {
      headers: given.headers ?? { "x-n": String(n) },
      body,
      url: `http://svc.example/webhook/push?n=${n}`,
    },
    events,
    dedupWindowMs: 1000,
    dedupKeepMs: 1000,
    ...defined({ once: given.once, cursor: given.cursor, resourceVersion: given.resourceVersion }),
  };
}

function record(n: number, given: Accepted): DeliveryFacts {
  return {
    id: idOf(n),
    project: given.project ?? "default",
    trigger: given.trigger ?? "push",
    source: "webhook",
    via: "http",
    receivedAt: given.receivedAt ?? 1_700_000_000_000 + n,
    status: 200,
    remote: "192.0.2.1",
    secretStore: "github",
    secretKey: "current",
    bodyBytes: given.body?.length ?? 0,
    durationMs: 3,
    detail: { headerNames: [], stages: {} },
  };
}

/** A step that has run. */
export function step(position: number, state: StepRecord["state"]): StepRecord {
  return { position, id: STEPS[position] ?? "", state, reason: "", startedAt: 1, finishedAt: 2 };
}

/** Notes that a step of task `n` has read the messages before a position. */
export function readMessages(
  store: Pick<TaskRecorder, "saveStep">,
  n: number,
  readUpTo: number,
): Promise<void> {
  return store.saveStep(taskIdOf(n), { ...step(0, "succeeded"), readUpTo });
}

/** How many tasks wait and run. */
export async function countsOf(store: TaskCounter): Promise<{ pending: number; running: number }> {
  const { pending, running } = await store.counts();
  return { pending, running };
}

/** Stores task `n` as the retry of another one, as if 500 + `n` ms after the epoch. */
export function retry(
  store: Pick<TaskStore, "retryTask">,
  n: number,
  of: number,
  more: Partial<RetryOf> = {},
): Promise<Task> {
  return store.retryTask({
    by: { called: "ada" },
    id: taskIdOf(n),
    of: taskIdOf(of),
    kept: [],
    keepDirectory: false,
    staysOnNode: false,
    now: 500 + n,
    ...more,
  });
}
