/**
 * The outcome of an event that its trigger admits: a duplicate, joined to a pending task, skipped,
 * refused, or a task of its own. `admit` (`intake/admission/admit.ts`) decides by the event and its
 * trigger alone; everything that depends on stored facts is decided here, and only here. A store
 * fetches the facts and carries out the actions in one transaction, so that of two concurrent
 * events each sees the other.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { shortDuration } from "../../base/duration.ts";
import type { DedupTimes } from "../../resources/dedup_times.ts";
import type { Admitted, EventOutcome } from "../delivery_records.ts";
import { isUnfinished, type NewTask, type TaskState } from "../task_records.ts";
import { type ConversationTask, type Place, placeInConversation } from "./conversation.ts";
import { limitsOf, sameLimits, type TaskLimits } from "./limits.ts";
import type { Found, Needs } from "./needs.ts";
import { type RateState, reserveRateSlot } from "./rate_limit.ts";
import type { Readiness } from "./readiness.ts";

/** The last event with the same key. */
export interface EarlierEvent {
  readonly deliveryId: string;
  /** Milliseconds since the epoch when its delivery arrived. */
  readonly receivedAt: number;
  /** Empty where the task was deleted after it had succeeded. */
  readonly taskId: string;
  /** State of that task. */
  readonly state: TaskState;
}

/** A task that has never started and that later events of its debounce key join. */
export interface DebouncedTask {
  readonly id: string;
  readonly readiness: Readiness;
  /** Limits the task counts against. */
  readonly limits: TaskLimits;
  /** Hash of its plan before the event joins it. */
  readonly planHash: string;
}

/** A task that may have to end for a new one. */
export interface ReplaceableTask {
  /** Sorts by time. */
  readonly id: string;
  /** Whether the task has started, and so has steps to stop. */
  readonly hasStarted: boolean;
}

/** Stored facts that the outcome depends on; each is fetched only when the rule asks for it. */
export interface EventFacts {
  /** The earlier event with the same key. */
  readonly earlier: Found<EarlierEvent>;
  /** The newest task of its conversation, if that is still stored. */
  readonly conversation: Found<ConversationTask>;
  /** The task of its debounce key that has not started. */
  readonly debounced: Found<DebouncedTask>;
  /** Ids of the unfinished tasks of its group; no more than the limit are needed. */
  readonly unfinished: readonly string[];
  /** Unfinished tasks of its group that are not being cancelled. */
  readonly replaceable: readonly ReplaceableTask[];
  readonly rate: Found<RateState>;
}

/** An action that a store carries out for an event. */
export type EventAction =
  /** Store the rate of the trigger. */
  | { readonly do: "keep-rate"; readonly rate: RateState }
  /** Cancel these tasks; the end of each promotes others. */
  | { readonly do: "cancel"; readonly taskIds: readonly string[]; readonly reason: string }
  /** Give a pending task the payload, the plan and the limits of the event. */
  | { readonly do: "join"; readonly task: DebouncedTask; readonly move: Move }
  /** Put the message of the event into the inbox of a task. */
  | { readonly do: "tell"; readonly taskId: string }
  /** Store the task of the event; `runAt` is given where its time has not come, `parentId` where it follows one. */
  | { readonly do: "start"; readonly runAt?: number; readonly parentId?: string }
  /** Let the conversation of the event go on with its task. */
  | { readonly do: "bind" }
  /** Give the unread messages of a task, but for the one at `except`, to the task of the event. */
  | { readonly do: "hand-over"; readonly from: string; readonly except: number }
  /**
   * Make later events with the same key duplicates of this task; keys from up to `forgetUpTo` may
   * be removed.
   */
  | { readonly do: "remember-key"; readonly taskId: string; readonly forgetUpTo: number };

/**
 * What the limits of the event mean for the task it joins: the task keeps its room (`stay`), gets
 * other limits once its time has come (`later`), or gives its room back and waits for room under
 * the new limits (`now`).
 */
export type Move = "stay" | "later" | "now";

/** The outcome of an event with its actions, or a refusal. */
export type OutcomeDecision =
  | { readonly outcome: EventOutcome; readonly actions: readonly EventAction[] }
  /**
   * The trigger refuses events above its rate: nothing is stored, not even other events of the
   * delivery.
   */
  | { readonly refused: string; readonly retryAfterSecs: number };

/** Time of arrival of an event, and how long its key counts. */
export interface Arrival extends DedupTimes {
  /** Milliseconds since the epoch when its delivery arrived. */
  readonly receivedAt: number;
}

/** An event that `admit` accepted, with the task it would start. */
export type AdmittedTask = Extract<Admitted, { readonly outcome: "accepted" }>;

/**
 * Decides the outcome of an event, or asks for the next fact. The actions of a decision have to be
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
    if (earlier !== "none" && makesDuplicate(earlier, arrival)) {
      return duplicateOf(earlier, arrival);
    }
  }
  let begins: Beginning | undefined;
  if (task.conversation !== undefined) {
    if (known.conversation === undefined) return { needs: "conversation" };
    const place = placeInConversation(task.conversation, known.conversation);
    if (place.is !== "start") return told({ task, note, arrival }, place);
    begins = place;
  } else if (task.debounce !== undefined && task.plan !== undefined) {
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
  return start({ task, note, arrival, ...defined({ begins }) }, known);
}

/** An event that starts nothing, because the task of its conversation is open, or it only feeds one. */
function told(
  { task, note, arrival }: Accepted,
  place: Exclude<Place, Beginning>,
): OutcomeDecision {
  const { taskId } = place;
  if (place.is === "skipped") {
    const { reason } = place;
    return { outcome: { outcome: "skipped", reason, ...defined({ taskId }) }, actions: [] };
  }
  const where = `to the inbox of task ${place.taskId}`;
  const reason = note === "" ? where : `${where}; ${note}`;
  return {
    outcome: { outcome: "accepted", reason, taskId: place.taskId, isMessage: true },
    actions: [{ do: "tell", taskId: place.taskId }, ...remembered(task, place.taskId, arrival)],
  };
}

/** A new task in its conversation. */
type Beginning = Extract<Place, { readonly is: "start" }>;

function bound({ after, was }: Beginning): readonly EventAction[] {
  if (after === undefined || was === undefined) return [{ do: "bind" }];
  return [{ do: "bind" }, { do: "hand-over", from: after, except: was }];
}

/** An event that starts nothing, because tasks only wait for it; or a duplicate of an earlier one. */
export function decideKeyed(
  event: EventOutcome,
  earlier: Found<EarlierEvent>,
  arrival: Arrival,
): EventOutcome {
  const isAgain = earlier !== "none" && makesDuplicate(earlier, arrival);
  return isAgain ? duplicateOf(earlier, arrival).outcome : event;
}

/**
 * A key counts while its task may still do the work, or has done it; an event whose task failed may
 * be sent again.
 */
function makesDuplicate({ receivedAt, state }: EarlierEvent, arrival: Arrival): boolean {
  return receivedAt > arrival.receivedAt - arrival.dedupWindowMs &&
    (isUnfinished(state) || state === "succeeded");
}

function duplicateOf(
  first: EarlierEvent,
  arrival: Arrival,
): Exclude<OutcomeDecision, { readonly refused: string }> {
  const { deliveryId, taskId } = first;
  const reason = seenBefore(`in delivery ${deliveryId}`, first, arrival);
  const task = taskId === "" ? {} : { taskId };
  return {
    outcome: { outcome: "duplicate", reason, ...task, duplicateOf: deliveryId },
    actions: [],
  };
}

/** The reason of a duplicate; `where` names the first one. */
export function seenBefore(
  where: string,
  first: { readonly receivedAt: number },
  again: { readonly receivedAt: number },
): string {
  const earlier = shortDuration(again.receivedAt - first.receivedAt);
  return `seen before, ${where}, which came ${earlier} earlier`;
}

function skipped(first: string, max: number): OutcomeDecision {
  const busy = max === 1 ? `task ${first} has not ended` : `${max} tasks have not ended`;
  return { outcome: { outcome: "skipped", reason: `concurrency: ${busy}` }, actions: [] };
}

/** An event that is neither a duplicate nor skipped. */
interface Accepted {
  readonly task: NewTask;
  readonly note: string;
  readonly arrival: Arrival;
  /** How it begins in its conversation; absent without one. */
  readonly begins?: Beginning;
}

/**
 * The joined task keeps the time of its first event, which has reserved its slot of the rate
 * already.
 */
function join(
  { task, note, arrival }: Accepted,
  pending: DebouncedTask,
  known: Partial<EventFacts>,
): OutcomeDecision | Needs<EventFacts> {
  const replaced = replacedBy(pending.id, task, known);
  if ("needs" in replaced) return replaced;
  const joined = "debounced, joined to a pending task";
  const reason = note === "" ? joined : `${joined}; ${note}`;
  const move = sameLimits(pending.limits, limitsOf(task))
    ? "stay"
    : pending.readiness === "delayed"
    ? "later"
    : "now";
  return {
    outcome: accepted(pending.id, reason, replaced),
    actions: [
      { do: "join", task: pending, move },
      ...cancelled(replaced, pending.id),
      ...remembered(task, pending.id, arrival),
    ],
  };
}

function start(
  { task, note, arrival, begins }: Accepted,
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
  // A task without a plan never runs: it replaces nothing and waits for nothing.
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
      {
        do: "start",
        ...(runs && runAt > receivedAt ? { runAt } : {}),
        ...defined({ parentId: begins?.after }),
      },
      ...begins === undefined ? [] : bound(begins),
      ...remembered(task, task.id, arrival),
    ],
  };
}

/** The oldest tasks of the group that have to end so that task `id` is within the limit. */
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
  { receivedAt, dedupKeepMs }: Arrival,
): readonly EventAction[] {
  if (dedupKey === undefined) return [];
  return [{ do: "remember-key", taskId, forgetUpTo: receivedAt - dedupKeepMs }];
}
