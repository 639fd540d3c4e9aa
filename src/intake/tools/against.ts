/**
 * `svc apply --dry-run --against SPAN`: the stored deliveries that would have another outcome under the
 * proposed manifests.
 *
 * @module
 */

import type { AgainstResult } from "../../api/resource_operations.ts";
import { backtest, type BacktestHost } from "./backtest.ts";
import type { Proposal } from "./proposal.ts";

/** Most changed deliveries that the report lists. */
const MAX_NAMED = 100;

/** Compares the deliveries of the last `secs` seconds. */
export async function compareAgainst(
  secs: number,
  proposal: Proposal,
  host: BacktestHost,
): Promise<AgainstResult> {
  const counts: Record<string, number> = {};
  const changed: AgainstResult["changed"][number][] = [];
  let examined = 0;
  const { results } = await backtest({ secs }, proposal, host);
  for await (const { delivery: { id, project, trigger }, before, after, reason } of results) {
    examined++;
    const change = before === after ? "unchanged" : `${before} → ${after}`;
    counts[change] = (counts[change] ?? 0) + 1;
    if (change === "unchanged" || changed.length >= MAX_NAMED) continue;
    changed.push({ delivery_id: id, project, trigger, change, reason });
  }
  return { examined, counts, changed };
}
