/**
 * The limits of a trigger's tasks (`concurrency`, `debounce`, `rateLimit`), with their keys evaluated
 * for one event. The store decides whether a limit has capacity.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import type { Expression, Scope } from "../../cel/expression.ts";
import type { NewTask } from "../../store/task_records.ts";
import type { ActiveTrigger } from "./triggers.ts";

/** The limits of a new task, and notes for the operator about its keys. */
export interface EventLimits {
  readonly fields: Pick<NewTask, "concurrency" | "debounce" | "rateLimit">;
  /** Why a key could not be used; the event then has the empty key. */
  readonly notes: readonly string[];
}

/** The part of an event that its limits depend on. */
interface LimitedEvent {
  readonly trigger: ActiveTrigger;
  readonly waits?: boolean;
  readonly follows?: { readonly taskId: string };
}

const NO_LIMITS: EventLimits = { fields: {}, notes: [] };

/** The limits of an event, with the keys evaluated in `scope`. */
export function limitsOf(
  event: LimitedEvent,
  scope: Scope,
  evaluator: Evaluator,
): EventLimits | Promise<EventLimits> {
  const { resource: { spec }, webhook: { debounce, rateLimit } } = event.trigger;
  if ((spec.concurrency ?? debounce ?? rateLimit) === undefined) return NO_LIMITS;
  return evaluatedLimits(event, scope, evaluator);
}

async function evaluatedLimits(
  { trigger, waits, follows }: LimitedEvent,
  scope: Scope,
  evaluator: Evaluator,
): Promise<EventLimits> {
  const { resource: { spec: { concurrency } }, webhook: { debounce, rateLimit } } = trigger;
  const notes: string[] = [];
  const keyOf = async (name: string, key: Expression | undefined) => {
    const { key: text, why } = await textOf(key, scope, evaluator);
    if (why !== undefined) notes.push(`${name} ${why}, so it counts as empty`);
    return text;
  };
  const { policy: stated = "Allow" } = concurrency ?? {};
  // A message has been accepted already: where its group is full, its follow-up waits.
  const policy = stated === "Forbid" && follows !== undefined ? "Queue" : stated;
  return {
    fields: defined({
      concurrency: policy === "Allow" ? undefined : {
        policy,
        key: await keyOf("concurrency.key", trigger.concurrencyKey),
        max: concurrency?.max ?? 1,
      },
      debounce: debounce && {
        key: await keyOf("debounce.key", trigger.debounceKey),
        forMs: debounce.secs * 1000,
      },
      rateLimit: rateLimit && {
        perMinute: rateLimit.perMinute,
        reject: rateLimit.reject === true && waits !== true,
      },
    }),
    notes,
  };
}

/** The value of a key as text; empty if it has none, so that the event is not lost. */
async function textOf(
  key: Expression | undefined,
  scope: Scope,
  evaluator: Evaluator,
): Promise<{ key: string; why?: string }> {
  if (key === undefined) return { key: "" };
  const result = await evaluator.evaluate(key, scope);
  if (!result.ok) return { key: "", why: `failed: ${result.error}` };
  const { value } = result;
  const simple = ["string", "number", "bigint", "boolean"].includes(typeof value);
  return simple ? { key: String(value) } : { key: "", why: "gave no text, number or boolean" };
}
