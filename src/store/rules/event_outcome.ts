/**
 * What becomes of an event that its trigger lets through: a duplicate, joined to a task that waits,
 * skipped, refused, or a task of its own. `admit` (`intake/admission/admit.ts`) decides what the
 * event and its trigger alone can tell; everything that depends on what is stored is decided here,
 * and only here. A store fetches the facts and carries out the actions in one transaction, so that
 * of two events at once each sees the other.
 *
 * @module
 */

import type { Admitted, EventOutcome } from "../delivery_records.ts";
import type { NewTask, TaskState } from "../task_records.ts";
import { limitsOf, sameLimits, type TaskLimits } from "./limits.ts";
import type { Found, Needs } from "./needs.ts";
import { type RateState, reserveRateSlot } from "./rate_limit.ts";
import type { WaitReason } from "./waiting.ts";

/** The event that came last with the same key. */
export interface EarlierEvent {
  /** Delivery it came with. */
  readonly deliveryId: string;
  /** When that came, in milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Task it started. */
  readonly taskId: string;
  /** Where that task stands. */
  readonly state: TaskState;
}

/** A task that has never started and that later events of its debounce key become part of. */
export interface DebouncedTask {
  /** Identifier. */
  readonly id: string;
  /** What it waits for. */
  readonly waitsFor: WaitReason;
  /** What it takes room in. */
  readonly limits: TaskLimits;
  /** Plan it has until the event is joined to it. */
  readonly planHash: string;
}

/** A task that may have to go for a new one. */
export interface ReplaceableTask {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Whether it has started, and so has steps to end. */
  readonly hasStarted: boolean;
}

/** What is stored that an event depends on; each is fetched only when it is asked for. */
export interface EventFacts {
  /** The event that has the key of this one. */
  readonly earlier: Found<EarlierEvent>;
  /** The task of its debounce key that has not started. */
  readonly debounced: Found<DebouncedTask>;
  /** Ids of the tasks of its group that have not ended; not more than the limit are needed. */
  readonly unfinished: readonly string[];
  /** Tasks of its group that have not ended and have not been told to. */
  readonly replaceable: readonly ReplaceableTask[];
  /** The rate of its trigger. */
  readonly rate: Found<RateState>;
}

/** Something a store has to do for an event. */
export type EventAction =
  /** Remember the rate of the trigger. */
  | { readonly do: "keep-rate"; readonly rate: RateState }
  /** Cancel these tasks; each promotes others. */
  | { readonly do: "cancel"; readonly taskIds: readonly string[]; readonly reason: string }
  /** Give a task that waits the payload, the plan and the limits of the event. */
  | { readonly do: "join"; readonly task: DebouncedTask; readonly move: Move }
  /** Store the task of the event; `runAt` is given where its time has not come. */
  | { readonly do: "start"; readonly runAt?: number }
  /**
   * An event with the same key is a duplicate of this task; keys from up to then may be forgotten.
   */
  | { readonly do: "remember-key"; readonly taskId: string; readonly forgetUpTo: number };

/**
 * What the limits of the event mean for the task it is joined to: nothing (`stay`), other limits
 * from the time it has come (`later`), or that it gives its room back and looks for room there
 * (`now`).
 */
export type Move = "stay" | "later" | "now";

/** What becomes of an event. */
export type OutcomeDecision =
  | { readonly outcome: EventOutcome; readonly actions: readonly EventAction[] }
  /** Over a rate whose trigger refuses: nothing is stored, not even of the other events with it. */
  | { readonly refused: string; readonly retryAfterSecs: number };

/** When an event came, and how long its key counts. */
export interface Arrival {
  /** When its delivery came, in milliseconds since the epoch. */
  readonly receivedAt: number;
  /** How long a key makes later events duplicates, in milliseconds. */
  readonly dedupWindowMs: number;
}

/** An event that `admit` lets through, with the task it would start. */
export type AdmittedTask = Extract<Admitted, { readonly outcome: "accepted" }>;

/**
 * Decides what becomes of an event, or asks for the next fact; the actions of a decision are to be
 * carried out in their order.
 */
export function decideOutcome(
  { task, note = "" }: AdmittedTask,
  arrival: Arrival,
  known: Partial<EventFacts>,
): OutcomeDecision | Needs<EventFacts> {
  if (task.dedupKey !== undefined) {
    if (known.earlier === undefined) return { needs: "earlier" };
    const { earlier } = known;
    if (earlier !== "none" && makesDuplicate(earlier, arrival)) return duplicateOf(earlier);
  }
  if (task.debounce !== undefined && task.plan !== undefined) {
    if (known.debounced === undefined) return { needs: "debounced" };
    const { debounced } = known;
    if (debounced !== "none") return join({ task, note, arrival }, debounced, known);
  }
  if (task.concurrency?.policy === "Forbid") {
    if (known.unfinished === undefined) return { needs: "unfinished" };
    const { max } = task.concurrency;
    const [first, ...more] = known.unfinished;
    if (first !== undefined && 1 + more.length >= max) return skipped(first, max);
  }
  return start({ task, note, arrival }, known);
}

/**
 * A key counts while its task may still do the work, or has done it; a failed one may be sent
 * again.
 */
function makesDuplicate({ receivedAt, state }: EarlierEvent, arrival: Arrival): boolean {
  return receivedAt > windowStart(arrival) &&
    (state === "pending" || state === "running" || state === "succeeded");
}

/** Keys of events that came up to then no longer count. */
function windowStart({ receivedAt, dedupWindowMs }: Arrival): number {
  return receivedAt - dedupWindowMs;
}

function duplicateOf({ deliveryId, taskId }: EarlierEvent): OutcomeDecision {
  const reason = `seen before, in delivery ${deliveryId}`;
  return {
    outcome: { outcome: "duplicate", reason, taskId, duplicateOf: deliveryId },
    actions: [],
  };
}

function skipped(first: string, max: number): OutcomeDecision {
  const busy = max === 1 ? `task ${first} is not over` : `${max} tasks are not over`;
  return { outcome: { outcome: "skipped", reason: `concurrency: ${busy}` }, actions: [] };
}

/** An event that is neither a duplicate nor skipped. */
interface Accepted {
  readonly task: NewTask;
  readonly note: string;
  readonly arrival: Arrival;
}

/** Its time stays that of the first event, and it has its slot of the rate already. */
function join(
  { task, note, arrival }: Accepted,
  waiting: DebouncedTask,
  known: Partial<EventFacts>,
): OutcomeDecision | Needs<EventFacts> {
  const replaced = replacedBy(waiting.id, task, known);
  if ("needs" in replaced) return replaced;
  const joined = "debounced, joined to a task that waits";
  const reason = note === "" ? joined : `${joined}; ${note}`;
  const move = sameLimits(waiting.limits, limitsOf(task))
    ? "stay"
    : waiting.waitsFor === "time"
    ? "later"
    : "now";
  return {
    outcome: accepted(waiting.id, reason, replaced),
    actions: [
      { do: "join", task: waiting, move },
      ...cancelled(replaced, waiting.id),
      ...remembered(task, waiting.id, arrival),
    ],
  };
}

function start(
  { task, note, arrival }: Accepted,
  known: Partial<EventFacts>,
): OutcomeDecision | Needs<EventFacts> {
  const { receivedAt } = arrival;
  if (task.rateLimit !== undefined && known.rate === undefined) return { needs: "rate" };
  const slot = task.rateLimit === undefined || known.rate === undefined
    ? undefined
    : reserveRateSlot(task.rateLimit, known.rate, receivedAt);
  const startAt = slot?.startAt ?? receivedAt;
  if (task.rateLimit?.reject === true && startAt > receivedAt) {
    return {
      refused: `Over the rate of ${task.rateLimit.perMinute} tasks a minute`,
      retryAfterSecs: Math.ceil((startAt - receivedAt) / 1000),
    };
  }
  // A task that misses something never runs: it replaces nothing and waits for nothing.
  const runs = task.plan !== undefined;
  const replaced = runs ? replacedBy(task.id, task, known) : [];
  if ("needs" in replaced) return replaced;
  const debounced = receivedAt + (runs ? task.debounce?.forMs ?? 0 : 0);
  const runAt = Math.max(debounced, startAt);
  return {
    outcome: accepted(task.id, note, replaced),
    actions: [
      ...(slot === undefined ? [] : [{ do: "keep-rate", rate: slot.next } as const]),
      ...cancelled(replaced, task.id),
      { do: "start", ...(runs && runAt > receivedAt ? { runAt } : {}) },
      ...remembered(task, task.id, arrival),
    ],
  };
}

/** The oldest of the group that have to go for task `id`, so that it is within the limit. */
function replacedBy(
  id: string,
  { concurrency }: NewTask,
  { replaceable }: Partial<EventFacts>,
): readonly ReplaceableTask[] | Needs<EventFacts> {
  if (concurrency?.policy !== "Replace") return [];
  if (replaceable === undefined) return { needs: "replaceable" };
  const others = replaceable.filter((one) => one.id !== id)
    .toSorted((a, b) => a.id < b.id ? -1 : 1);
  return others.slice(0, Math.max(0, others.length + 1 - concurrency.max));
}

function accepted(
  taskId: string,
  reason: string,
  replaced: readonly ReplaceableTask[],
): EventOutcome {
  const running = replaced.filter(({ hasStarted }) => hasStarted).map(({ id }) => id);
  const replaces = running.length === 0 ? {} : { replaces: running };
  return { outcome: "accepted", reason, taskId, ...replaces };
}

function cancelled(replaced: readonly ReplaceableTask[], taskId: string): readonly EventAction[] {
  if (replaced.length === 0) return [];
  const taskIds = replaced.map(({ id }) => id);
  return [{ do: "cancel", taskIds, reason: `replaced by task ${taskId}` }];
}

function remembered(
  { dedupKey }: NewTask,
  taskId: string,
  arrival: Arrival,
): readonly EventAction[] {
  if (dedupKey === undefined) return [];
  return [{ do: "remember-key", taskId, forgetUpTo: windowStart(arrival) }];
}
