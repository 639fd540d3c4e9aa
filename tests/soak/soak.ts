/**
 * `make soak MINUTES=n [SEED=n]`: soaks the program for so long, prints what happened and how memory
 * and descriptors went, and ends with 1 when an invariant does not hold.
 *
 * @module
 */

import { ONE_PROGRAM } from "../helpers/program.ts";
import { tableOf } from "./memory.ts";
import { runSoak } from "./run_soak.ts";

const minutes = Number(Deno.env.get("MINUTES") || 10);
const seed = Number(Deno.env.get("SEED") || crypto.getRandomValues(new Uint32Array(1))[0]);
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error("MINUTES is a number above 0, and SEED a whole one: make soak MINUTES=3 SEED=7");
  Deno.exit(2);
}

const began = Date.now();
const say = (text: string) =>
  console.log(`${((Date.now() - began) / 1000).toFixed(0).padStart(5)} s  ${text}`);
say(`soaking svc (${ONE_PROGRAM.name}) for ${minutes} min, seed ${seed}`);
const { faults, moreFaults, counts, lives, totals } = await runSoak({
  ...{ program: ONE_PROGRAM, seed, say },
  ...{ stormSecs: minutes * 60, steadySecs: Math.ceil(minutes * 15), killEverySecs: 20 },
});
console.log(`\n${tableOf(lives)}\n`);
for (const [what, times] of counts) console.log(`${String(times).padStart(8)}  ${what}`);
console.log("");
for (const [what, number] of Object.entries(totals)) {
  console.log(`${String(number).padStart(8)}  ${what}`);
}
for (const fault of faults) console.log(`\nFAULT  ${fault}`);
if (moreFaults > 0) console.log(`\n${moreFaults} more faults`);
const passed = faults.length === 0;
console.log(`\nsoak ${passed ? "passed" : "failed"}, seed ${seed}`);
Deno.exit(passed ? 0 : 1);
