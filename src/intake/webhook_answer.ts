/**
 * The answer to the sender of a webhook: the outcome of its request, and the ids under which it can be
 * looked up.
 *
 * @module
 */

import { bestOf, type EventOutcome, startedTasks } from "../store/delivery_records.ts";
import type { DeliveryContext } from "./pipeline/delivery_context.ts";

/** The answer to a request that one trigger got. */
export function answer(context: DeliveryContext, outcomes: readonly EventOutcome[]): Response {
  return Response.json(resultOf(context, outcomes));
}

/** The result of a request at one of several triggers. */
export interface TriggerResult {
  readonly context: DeliveryContext;
  readonly outcomes: readonly EventOutcome[];
}

/**
 * The answer to a request that several triggers got: the best outcome, and the result of each.
 *
 * @param endpoint The name in the path.
 */
export function answerForAll(
  endpoint: string,
  results: readonly TriggerResult[],
): Response {
  const best = bestOf(results.flatMap(({ outcomes }) => outcomes));
  return Response.json({
    status: best?.outcome ?? "filtered",
    endpoint,
    results: results.map(({ context, outcomes }) => resultOf(context, outcomes)),
  });
}

function resultOf(context: DeliveryContext, outcomes: readonly EventOutcome[]): object {
  const trigger = context.trigger?.resource.name;
  const best = bestOf(outcomes);
  const status = best?.outcome ?? "filtered";
  if (status === "duplicate") {
    return { status, trigger, delivery_id: best?.duplicateOf, task_id: best?.taskId };
  }
  const common = { status, trigger, delivery_id: context.id };
  if (status === "skipped") return { ...common, reason: best?.reason };
  if (status === "filtered") return common;
  const all = outcomes.length > 1 ? { task_ids: startedTasks(outcomes) } : {};
  return { ...common, task_id: best?.taskId, ...all };
}
