/**
 * What backtests print: how many deliveries they examined, and what came of them.
 *
 * @module
 */

import type { BacktestCounts } from "../api/trigger_operations.ts";
import type { Io } from "./io.ts";

/** Prints the numbers, those of unchanged deliveries too. */
export function printCounts(
  { examined, counts }: { readonly examined: number; readonly counts: BacktestCounts },
  io: Io,
): void {
  io.out(`\n${examined} stored deliveries examined\n`);
  for (const [change, n] of Object.entries(counts)) io.out(`  ${n} ${change}\n`);
}
