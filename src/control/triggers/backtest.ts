/**
 * `trigger.backtest`: applies a filter to the stored deliveries of a trigger, and reports the
 * result of each as it is examined.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import type { BacktestLine } from "../../api/trigger_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { backtest, type BacktestHost, type BacktestResult } from "../../intake/tools/backtest.ts";
import { withFilter } from "../../intake/tools/proposed_filter.ts";
import type { Resource } from "../../resources/resource.ts";
import { trigger as kind, type TriggerSpec } from "../../resources/trigger.ts";
import { findResource } from "../resources/queries.ts";

/** Deliveries that are examined, where the input does not say. */
const DEFAULT_LIMIT = 10_000;
/** Shortest time between two lines of progress. */
const PROGRESS_MS = 250;

/**
 * The result of each delivery, and the progress, until all are examined or the reader leaves.
 *
 * @throws {AppError} `not_found` when there is no such trigger; `invalid` when the filter does not
 * compile.
 */
export async function* backtestTrigger(
  input: Input<"trigger.backtest">,
  host: BacktestHost,
  signal: AbortSignal,
): AsyncGenerator<BacktestLine> {
  const { name, project, filter, since_secs: secs, limit = DEFAULT_LIMIT } = input;
  const applied = findResource(kind, { project, name }, host.catalog) as Resource<TriggerSpec>;
  const resource = filter === undefined ? applied : withFilter(applied, filter);
  const proposal = { catalog: host.catalog.with([{ op: "put", resource }]), resources: [resource] };
  const span = { secs, limit, trigger: { project: applied.project, trigger: name } };
  const { total, results } = await backtest(span, proposal, host);
  yield { total };
  const counts: Record<string, number> = {};
  let examined = 0;
  let toldAt = host.clock.monotonicMs();
  for await (const result of results) {
    if (signal.aborted) return;
    const change = changeOf(result);
    counts[change] = (counts[change] ?? 0) + 1;
    examined++;
    yield lineOf(result);
    const now = host.clock.monotonicMs();
    if (now - toldAt < PROGRESS_MS) continue;
    toldAt = now;
    yield { examined, counts: { ...counts } };
  }
  yield { done: true, examined, counts };
}

function changeOf({ before, after }: BacktestResult): string {
  return before === after ? `unchanged ${after}` : `${before} → ${after}`;
}

function lineOf({ delivery, before, after, reason }: BacktestResult): BacktestLine {
  return {
    delivery_id: delivery.id,
    received_at: rfc3339(delivery.receivedAt),
    before,
    after,
    reason,
    unchanged: before === after,
  };
}
