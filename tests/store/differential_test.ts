/**
 * Both stores answer random histories of calls alike, and hold the same after them: what one of them
 * does otherwise, is a difference that nobody has decided on. Each history is made by a seed, which
 * makes the same one again.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { times } from "../helpers/program.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { range } from "./contract/each_store.ts";
import { differenceOf } from "./differential/compare.ts";

const SEEDS = times(12, 4);
const STEPS = 150;
/** Histories that are run side by side: mostly they wait for a disk. */
const AT_ONCE = 4;

postgresTest(`both stores answer random histories alike${SEEDS.inName}`, async () => {
  for (let first = 1; first <= SEEDS.count; first += AT_ONCE) {
    const found = await Promise.allSettled(range(first, first + AT_ONCE).map(check));
    for (const one of found) if (one.status === "rejected") throw one.reason;
  }
}, { isLong: false });

async function check(seed: number): Promise<void> {
  const difference = await differenceOf(seed, STEPS);
  if (difference === undefined) return;
  const { steps, said } = difference;
  const last = Deno.inspect(steps.at(-1), { depth: 9 });
  deepEqual(
    said[1],
    said[0],
    `seed ${seed} differs after ${steps.length} steps, the last: ${last}`,
  );
}
