/**
 * Decides whether an event starts a task: every source goes through here, and nothing else makes an
 * `Admitted`, so no task can start past its trigger's filter.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import type { NewId } from "../base/ids.ts";
import type { Evaluator } from "../cel/evaluator.ts";
import { type Expression, type Scope, scopeOf } from "../cel/expression.ts";
import type { EventDecision } from "../store/delivery_records.ts";
import type { NewTask } from "../store/task_records.ts";
import type { Planner } from "./plan.ts";
import type { ActiveTrigger } from "./triggers.ts";

/** Something that happened and may start a task. */
export interface TriggerEvent {
  /** The trigger it came to. */
  readonly trigger: ActiveTrigger;
  /** Parsed payload. */
  readonly payload: JsonObject;
  /** Exact JSON for the steps, where that is not the delivery's body. */
  readonly ownPayload?: Uint8Array;
  /** Headers, names in lower case; empty for sources without any. */
  readonly headers: Readonly<Record<string, string>>;
  /** Delivery it came with. */
  readonly delivery: { readonly id: string; readonly receivedAt: number };
  /** What its platform calls it; absent where the platform has no name for events. */
  readonly platformKey?: string;
  /** Whether an operator sends it again: then earlier ones do not stop it. */
  readonly again?: boolean;
}

/** Exists for the compiler only. */
declare const admittedBrand: unique symbol;

/** A decision made by {@linkcode admit}; nothing else can make one. */
export type Admitted = EventDecision & { readonly [admittedBrand]: true };

/** What {@linkcode admit} needs. */
export interface AdmitHost {
  /** Runs the filter. */
  readonly evaluator: Evaluator;
  /** Copies what the task will run. */
  readonly planner: Planner;
  /** Names the task. */
  readonly newId: NewId;
}

/**
 * The decisions on the events of one delivery, in their order.
 *
 * @throws {AppError} `overloaded` when too many slow filters wait.
 */
export async function admit(
  events: readonly TriggerEvent[],
  host: AdmitHost,
): Promise<readonly Admitted[]> {
  const decisions: EventDecision[] = [];
  for (const event of events) decisions.push(await decide(event, host));
  return decisions as Admitted[];
}

async function decide(event: TriggerEvent, host: AdmitHost): Promise<EventDecision> {
  const { resource } = event.trigger;
  const scope = scopeOf(eventVariables(event));
  const reason = await whyFiltered(event.trigger.filter, scope, host.evaluator);
  if (reason !== undefined) return { outcome: "filtered", reason };
  if (resource.spec.suspend === true) {
    return { outcome: "skipped", reason: "the trigger is suspended" };
  }
  const { key, note } = event.again === true ? {} : await keyOf(event, scope, host.evaluator);
  const task: NewTask = {
    id: host.newId(),
    project: resource.project,
    trigger: resource.name,
    ...host.planner.plan(resource),
    ...(event.ownPayload === undefined ? {} : { payload: event.ownPayload }),
    ...(key === undefined ? {} : { dedupKey: key }),
  };
  return { outcome: "accepted", task, ...(note === undefined ? {} : { note }) };
}

/**
 * What names the event: the trigger's own key, else the platform's. An own key that has no value
 * names nothing: losing an event would be worse than running it twice, and the record says so.
 */
async function keyOf(
  event: TriggerEvent,
  scope: Scope,
  evaluator: Evaluator,
): Promise<{ key?: string; note?: string }> {
  const { idempotencyKey } = event.trigger;
  if (idempotencyKey === undefined) {
    return event.platformKey === undefined ? {} : { key: event.platformKey };
  }
  const result = await evaluator.evaluate(idempotencyKey, scope);
  if (result.ok && typeof result.value === "string" && result.value !== "") {
    return { key: result.value };
  }
  const why = result.ok ? "gave no text" : `failed: ${result.error}`;
  return { note: `not deduplicated, idempotencyKey ${why}` };
}

/** Only the boolean `true` lets an event through (contract 2, CEL). */
async function whyFiltered(
  filter: Expression | undefined,
  scope: Scope,
  evaluator: Evaluator,
): Promise<string | undefined> {
  if (filter === undefined) return undefined;
  const result = await evaluator.evaluate(filter, scope);
  if (!result.ok) return `the condition failed: ${result.error}`;
  if (result.value === true) return undefined;
  if (result.value === false) return "the condition is false";
  return "the condition gave no boolean";
}

/** The variables that conditions and templates see of an event (contract 2, CEL). */
export function eventVariables(event: TriggerEvent): JsonObject {
  const { resource } = event.trigger;
  return {
    payload: event.payload,
    headers: event.headers,
    trigger: { name: resource.name, project: resource.project },
    delivery: {
      id: event.delivery.id,
      received_at: rfc3339(event.delivery.receivedAt),
    },
  };
}
