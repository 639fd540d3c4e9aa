/**
 * Decides on an event by its trigger alone: whether the filter accepts it, its key, its limits, and
 * the plan of its task. Events of every source pass through here, and nothing else makes an
 * `Admitted`, so no task can start past the filter of its trigger. `store/rules/event_outcome.ts`
 * decides by stored facts: duplicates, capacity, rates.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { AppError } from "../../base/errors.ts";
import { parseQuery } from "../../base/form.ts";
import type { JsonObject } from "../../base/json.ts";
import type { NewId } from "../../base/ids.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import { type Expression, type Scope, scopeOf, whyNotTrue } from "../../cel/expression.ts";
import { type Coverage, COVERS_NOTHING, signedValues } from "../../signatures/coverage.ts";
import type { Admitted, Delivery, EventDecision } from "../../store/delivery_records.ts";
import type { NewTask, TaskNames } from "../../store/task_records.ts";
import { suspendedSince } from "../../resources/trigger.ts";
import { conversationOf } from "./conversation.ts";
import { keyText } from "./key_text.ts";
import { limitsOf } from "./limits.ts";
import type { Planner } from "../../tasks/plan.ts";
import type { ActiveTrigger } from "./triggers.ts";

/** An event that may start a task. */
export interface TriggerEvent {
  readonly trigger: ActiveTrigger;
  /** A JSON value, mostly an object. */
  readonly payload: unknown;
  /** Exact JSON of the payload for the steps; absent if it is the body of the delivery. */
  readonly ownPayload?: Uint8Array;
  /** Headers, names in lower case; empty for sources without any. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parts that a signature covers; none if absent. */
  readonly coverage?: Coverage;
  /** The request itself; absent for sources without any. */
  readonly request?: { readonly url: string; readonly method: string; readonly remote: string };
  readonly delivery: {
    readonly id: string;
    readonly receivedAt: number;
    /** The key that verified it; absent if none did. */
    readonly secret?: { readonly key: string } | undefined;
  };
  /** The platform's id of the event, if it has one. */
  readonly platformKey?: string;
  /** Whether an operator redelivers it; then it is no duplicate of an earlier event. */
  readonly again?: boolean;
  /**
   * Whether an event over the rate waits instead of being refused, because its sender has been
   * answered, or other triggers get the same request.
   */
  readonly waits?: boolean;
  /** Whether it belongs to a chat thread whose first event passed the filter. */
  readonly inBoundThread?: boolean;
  /** Id of the task that it starts, if the id is derived from the event. */
  readonly taskId?: string;
  /** Why it starts nothing, whatever its filter says: `whyOwn` of `PipelineHost`. */
  readonly own?: StartsNothing;
  /** Id of the task whose end caused the event, or to whose thread it belongs. */
  readonly parentId?: string;
  /** The message of an ended task that the event was, and that no step read: it starts a follow-up. */
  readonly follows?: { readonly taskId: string; readonly position: number };
  /** How many tasks precede it in a chain of task triggers. */
  readonly depth?: number;
}

/** Why an event starts nothing. */
export interface StartsNothing {
  /** For the operator. */
  readonly reason: string;
  /** Whether waits may end by it nevertheless, where its trigger takes it; none may if absent. */
  readonly mayEndWaits?: boolean;
}

/** Longest chain of tasks that start each other; it ends a loop of task triggers. */
export const MAX_DEPTH = 16;

/** The parts of the daemon that evaluate expressions, plan tasks and end loops. */
export interface AdmitHost {
  readonly evaluator: Evaluator;
  readonly planner: Planner;
  readonly newId: NewId;
  /** Whether the end of a task fires triggers; if absent, it fires none. */
  readonly isFollowed?: (task: TaskNames) => boolean;
  /** Why a chain of tasks ends at an event; if absent, no chain ends. */
  readonly whyCut?: (event: TriggerEvent) => string | undefined;
  /** The queue in which slow expressions wait; each trigger has its own if absent. */
  readonly share?: string;
}

/**
 * Decides on the events of one delivery; the result has their order.
 *
 * @throws {AppError} `overloaded` if too many slow filters wait; `invalid` if an expression of a
 * trigger does not compile.
 */
export async function admit(
  events: readonly TriggerEvent[],
  host: AdmitHost,
): Promise<readonly Admitted[]> {
  const decisions: EventDecision[] = [];
  for (const [index, event] of events.entries()) decisions.push(await decide(event, index, host));
  return decisions as Admitted[];
}

/** The decision for an event that could not be decided: it starts nothing, and can be redelivered. */
export function passOver(why: AppError): Admitted {
  const reason = `${UNDECIDED}${why.reason || why.message}`;
  return { outcome: "skipped", reason, why: "undecided" } as EventDecision as Admitted;
}

const UNDECIDED = "could not be decided: ";

/** Why the event of a trigger without an action starts nothing. */
const ONLY_WAITED_FOR = "only waited for: its trigger has no action";

/** Whether a delivery was passed over. */
export function wasPassedOver({ outcome, reason }: Pick<Delivery, "outcome" | "reason">): boolean {
  return outcome === "skipped" && reason.startsWith(UNDECIDED);
}

async function decide(
  event: TriggerEvent,
  index: number,
  host: AdmitHost,
): Promise<EventDecision> {
  const { resource, fault } = event.trigger;
  if (fault !== undefined) throw fault;
  const { own } = event;
  if (own !== undefined && own.mayEndWaits !== true) {
    return { outcome: "skipped", reason: own.reason, why: "own" };
  }
  const share = host.share ?? `${resource.project}/${resource.name}`;
  const scope = scopeOf(eventVariables(event), share);
  const filter = event.inBoundThread === true ? undefined : event.trigger.filter;
  if (filter !== undefined) {
    // Only the boolean `true` accepts the event.
    const why = whyNotTrue(await host.evaluator.evaluate(filter, scope));
    if (why !== undefined) return { outcome: "filtered", reason: `the condition ${why}` };
  }
  if (own !== undefined) return { outcome: "skipped", reason: own.reason };
  if (resource.spec.suspend === true) {
    const since = suspendedSince(resource);
    const when = since === undefined ? "" : `, since ${rfc3339(since)}`;
    return { outcome: "skipped", reason: `the trigger is suspended${when}` };
  }
  if (resource.spec.action === undefined) return await onlyWaitedFor(event, scope, host);
  if (event.depth !== undefined && event.depth > MAX_DEPTH) {
    return { outcome: "skipped", reason: `${MAX_DEPTH} tasks in a row started each other` };
  }
  const cut = host.whyCut?.(event);
  if (cut !== undefined) return { outcome: "skipped", reason: cut };
  const { key, note } = await keyOf(event, scope, host.evaluator);
  const { fields, notes } = await limitsOf(event, scope, host.evaluator);
  const talk = await conversationOf(event, index, { scope, evaluator: host.evaluator });
  if (talk.skipped !== undefined) return { outcome: "skipped", reason: talk.skipped };
  const { project, name: trigger } = resource;
  const planned = host.planner.plan(resource);
  const followed = host.isFollowed?.({ project, workflow: planned.workflow, trigger }) === true;
  const task: NewTask = {
    id: event.taskId ?? host.newId(),
    project,
    trigger,
    ...planned,
    ...fields,
    ...defined({
      payload: event.ownPayload,
      dedupKey: key,
      priority: resource.spec.priority,
      conversation: talk.conversation,
      parentId: event.parentId,
      depth: event.depth,
      followed: followed ? true : undefined,
    }),
  };
  const text = [note, ...notes, talk.note].filter((part) => part !== undefined).join("; ");
  return text === "" ? { outcome: "accepted", task } : { outcome: "accepted", task, note: text };
}

/** The decision for an event of a trigger without an action: one that is sent twice counts once. */
async function onlyWaitedFor(
  event: TriggerEvent,
  scope: Scope,
  { evaluator }: AdmitHost,
): Promise<EventDecision> {
  const { project, name: trigger } = event.trigger.resource;
  const { key, note } = await keyOf(event, scope, evaluator);
  const reason = note === undefined ? ONLY_WAITED_FOR : `${ONLY_WAITED_FOR}; ${note}`;
  const keyed = key === undefined ? {} : { keyed: { project, trigger, dedupKey: key } };
  return { outcome: "skipped", reason, ...keyed };
}

/** The key of an event, or why it has none although it should. */
interface EventKey {
  readonly key?: string | undefined;
  readonly note?: string;
}

/** The value of the trigger's `idempotencyKey`, else the platform's id. */
function keyOf(
  event: TriggerEvent,
  scope: Scope,
  evaluator: Evaluator,
): EventKey | Promise<EventKey> {
  if (event.again === true) return {};
  const { idempotencyKey } = event.trigger;
  if (idempotencyKey === undefined) return { key: event.platformKey };
  return evaluatedKey(idempotencyKey, scope, evaluator);
}

/**
 * The value of an `idempotencyKey`. If it has none, the event has no key, and a note says so: to run
 * an event twice is better than to lose it.
 */
async function evaluatedKey(
  idempotencyKey: Expression,
  scope: Scope,
  evaluator: Evaluator,
): Promise<EventKey> {
  const result = await evaluator.evaluate(idempotencyKey, scope);
  const key = result.ok ? keyText(result.value) : "";
  if (key !== "") return { key };
  const why = result.ok ? "gave no text" : `failed: ${result.error}`;
  return { note: `not deduplicated, idempotencyKey ${why}` };
}

/** The variables of an event in conditions and templates; with `signed` if `withSigned`. */
export function eventVariables(
  event: TriggerEvent,
  withSigned: boolean = event.trigger.readsSigned,
): JsonObject {
  const { resource } = event.trigger;
  const { url = "", method = "", remote = "" } = event.request ?? {};
  const variables: JsonObject = {
    payload: event.payload,
    headers: event.headers,
    query: parseQuery(url),
    method,
    remote,
    trigger: { name: resource.name, project: resource.project },
    // No getters: their functions become old objects, and all that the event holds with them.
    delivery: { id: event.delivery.id, received_at: rfc3339(event.delivery.receivedAt) },
  };
  if (withSigned) {
    const { headers, payload, coverage = COVERS_NOTHING } = event;
    variables["signed"] = signedValues(coverage, { payload, headers, url, method });
  }
  return variables;
}
