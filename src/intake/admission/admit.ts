/**
 * Decides what an event and its trigger alone can tell: whether the filter lets it through, what
 * names it, which limits hold, what its task would run. Every source goes through here, and nothing
 * else makes an `Admitted`, so no task can start past its trigger's filter. Whatever depends on
 * what is stored (duplicates, room, rates) is decided by `store/rules/event_outcome.ts`.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { NewId } from "../../base/ids.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import { type Expression, type Scope, scopeOf } from "../../cel/expression.ts";
import type { Admitted, EventDecision } from "../../store/delivery_records.ts";
import type { NewTask } from "../../store/task_records.ts";
import { limitsOf } from "./limits.ts";
import type { Planner } from "../../tasks/plan.ts";
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
  /**
   * Whether its sender has had the answer: what is over the rate then waits, and is never refused.
   */
  readonly answered?: boolean;
  /** Whether it belongs to a thread that passed the filter when it was bound. */
  readonly inBoundThread?: boolean;
  /** Id of the task it starts, where that follows from the event itself. */
  readonly taskId?: string;
  /** Task whose end or thread it comes from. */
  readonly parentId?: string;
  /** How many tasks stand before it in a chain of task triggers. */
  readonly depth?: number;
}

/** Tasks that may start one another in a row: a loop of task triggers ends here. */
export const MAX_DEPTH = 16;

/** How long an event's key makes its repetitions duplicates. */
export const DEDUP_WINDOW_MS = 24 * 3600 * 1000;

/** What {@linkcode admit} needs. */
export interface AdmitHost {
  /** Runs the filter. */
  readonly evaluator: Evaluator;
  /** Copies what the task will run. */
  readonly planner: Planner;
  readonly newId: NewId;
  /** Whether triggers follow the ends of tasks of this workflow; none do when absent. */
  readonly isFollowed?: (task: Pick<NewTask, "project" | "workflow">) => boolean;
  /** On whose account costly expressions run; absent where each trigger has its own. */
  readonly share?: string;
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
  const share = host.share ?? `${resource.project}/${resource.name}`;
  const scope = scopeOf(eventVariables(event), share);
  const filter = event.inBoundThread === true ? undefined : event.trigger.filter;
  const reason = await whyFiltered(filter, scope, host.evaluator);
  if (reason !== undefined) return { outcome: "filtered", reason };
  if (resource.spec.suspend === true) {
    return { outcome: "skipped", reason: "the trigger is suspended" };
  }
  if (event.depth !== undefined && event.depth > MAX_DEPTH) {
    return { outcome: "skipped", reason: `${MAX_DEPTH} tasks in a row started one another` };
  }
  const { key, note } = event.again === true ? {} : await keyOf(event, scope, host.evaluator);
  const { fields, notes } = await limitsOf(event, scope, host.evaluator);
  const { project, name: trigger } = resource;
  const planned = host.planner.plan(resource);
  const followed = host.isFollowed?.({ project, workflow: planned.workflow }) === true;
  const task: NewTask = {
    id: event.taskId ?? host.newId(),
    project,
    trigger,
    ...planned,
    ...fields,
    ...(event.ownPayload === undefined ? {} : { payload: event.ownPayload }),
    ...(key === undefined ? {} : { dedupKey: key }),
    ...(event.parentId === undefined ? {} : { parentId: event.parentId }),
    ...(event.depth === undefined ? {} : { depth: event.depth }),
    ...(followed ? { followed } : {}),
  };
  const said = [...(note === undefined ? [] : [note]), ...notes].join("; ");
  return { outcome: "accepted", task, ...(said === "" ? {} : { note: said }) };
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
  const key = result.ok ? keyText(result.value) : "";
  if (key !== "") return { key };
  const why = result.ok ? "gave no text" : `failed: ${result.error}`;
  return { note: `not deduplicated, idempotencyKey ${why}` };
}

/**
 * A text, or the decimal text of a number; empty for whatever else. A double beyond the whole
 * numbers it can tell apart is several numbers, and would make one event of two.
 */
function keyText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "number" || !Number.isFinite(value)) return "";
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? "" : String(value);
}

/** Only the boolean `true` lets an event through. */
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

/** The variables that conditions and templates see of an event. */
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
