/**
 * The limits of a trigger's tasks (`concurrency`, `debounce`, `rateLimit`), with their keys
 * evaluated for one event. Whether there is room is decided where the task is stored.
 *
 * @module
 */

import type { Evaluator } from "../../cel/evaluator.ts";
import type { Expression, Scope } from "../../cel/expression.ts";
import type { NewTask } from "../../store/task_records.ts";
import type { ActiveTrigger } from "./triggers.ts";

/** The limits of a new task, and notes for the operator about its keys. */
export interface EventLimits {
  readonly fields: Pick<NewTask, "concurrency" | "debounce" | "rateLimit">;
  /** Why a key could not be used; the event then belongs to the group without a key. */
  readonly notes: readonly string[];
}

const NO_LIMITS: EventLimits = { fields: {}, notes: [] };

/** The limits that hold for an event, its keys evaluated in `scope`. */
export async function limitsOf(
  { trigger, waits }: { readonly trigger: ActiveTrigger; readonly waits?: boolean },
  scope: Scope,
  evaluator: Evaluator,
): Promise<EventLimits> {
  const { concurrency, event } = trigger.resource.spec;
  const { debounce, rateLimit } = event.webhook ?? {};
  if ((concurrency ?? debounce ?? rateLimit) === undefined) return NO_LIMITS;
  const notes: string[] = [];
  const keyOf = async (name: string, key: Expression | undefined) => {
    const found = await textOf(key, scope, evaluator);
    if (found.why !== undefined) notes.push(`${name} ${found.why}, so it counts as empty`);
    return found.key;
  };
  const policy = concurrency?.policy ?? "Allow";
  return {
    fields: {
      ...(policy === "Allow" ? {} : {
        concurrency: {
          policy,
          key: await keyOf("concurrency.key", trigger.concurrencyKey),
          max: concurrency?.max ?? 1,
        },
      }),
      ...(debounce === undefined ? {} : {
        debounce: {
          key: await keyOf("debounce.key", trigger.debounceKey),
          forMs: debounce.secs * 1000,
        },
      }),
      ...(rateLimit === undefined ? {} : {
        rateLimit: {
          perMinute: rateLimit.perMinute,
          reject: rateLimit.reject === true && waits !== true,
        },
      }),
    },
    notes,
  };
}

/**
 * The value of a key as text; where it has none, the event counts with the empty key instead of
 * being lost.
 */
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
