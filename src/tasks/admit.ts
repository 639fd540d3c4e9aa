/**
 * Decides whether an event starts a task: every source goes through here, and nothing else makes an
 * `Admitted`, so no task can start past its trigger's filter.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { NewId } from "../base/ids.ts";
import type { Evaluator } from "../cel/evaluator.ts";
import { scopeOf } from "../cel/expression.ts";
import type { NewTask } from "../store/store.ts";
import type { Planner } from "./plan.ts";
import type { ActiveTrigger } from "./triggers.ts";

/** Something that happened and may start a task. */
export interface TriggerEvent {
  /** The trigger it came to. */
  readonly trigger: ActiveTrigger;
  /** Parsed payload. */
  readonly payload: JsonObject;
  /** Size of the payload in bytes. */
  readonly payloadBytes: number;
  /** Exact JSON for the steps, where that is not the delivery's body. */
  readonly ownPayload?: Uint8Array;
  /** Headers, names in lower case; empty for sources without any. */
  readonly headers: Readonly<Record<string, string>>;
  /** Delivery it came with. */
  readonly delivery: { readonly id: string; readonly receivedAt: number };
}

/** What was decided, and why for those that start nothing. */
export type Decision =
  | { readonly outcome: "accepted"; readonly task: NewTask }
  | { readonly outcome: "filtered" | "skipped"; readonly reason: string };

/** Exists for the compiler only. */
declare const admittedBrand: unique symbol;

/** A decision made by {@linkcode admit}; nothing else can make one. */
export type Admitted = Decision & { readonly [admittedBrand]: true };

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
 * The decision on one event.
 *
 * @throws {AppError} `overloaded` when too many slow filters wait.
 */
export async function admit(event: TriggerEvent, host: AdmitHost): Promise<Admitted> {
  return await decide(event, host) as Admitted;
}

async function decide(event: TriggerEvent, host: AdmitHost): Promise<Decision> {
  const { resource } = event.trigger;
  const reason = await whyFiltered(event, host.evaluator);
  if (reason !== undefined) return { outcome: "filtered", reason };
  if (resource.spec.suspend === true) {
    return { outcome: "skipped", reason: "the trigger is suspended" };
  }
  const task: NewTask = {
    id: host.newId(),
    project: resource.project,
    trigger: resource.name,
    ...host.planner.plan(resource),
    ...(event.ownPayload === undefined ? {} : { payload: event.ownPayload }),
  };
  return { outcome: "accepted", task };
}

/** Only the boolean `true` lets an event through (contract 2, CEL). */
async function whyFiltered(event: TriggerEvent, evaluator: Evaluator): Promise<string | undefined> {
  const { filter } = event.trigger;
  if (filter === undefined) return undefined;
  const result = await evaluator.evaluate(
    filter,
    scopeOf(eventVariables(event), event.payloadBytes),
  );
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
      received_at: new Date(event.delivery.receivedAt).toISOString(),
    },
  };
}
