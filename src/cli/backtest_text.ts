/**
 * Prints the summary of a backtest: how many deliveries it examined, and with which results.
 *
 * @module
 */

import type { BacktestCounts } from "../api/trigger_operations.ts";
import type { Io } from "./io.ts";

/** Prints the number of deliveries for each result. */
export function printCounts(
  { examined, counts }: { readonly examined: number; readonly counts: BacktestCounts },
  io: Io,
): void {
  io.out(`\n${examined} stored deliveries examined\n`);
  for (const [change, n] of Object.entries(counts)) io.out(`  ${n} ${change}\n`);
}
