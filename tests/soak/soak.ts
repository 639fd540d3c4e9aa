/**
 * `make soak MINUTES=n [SEED=n]`: soaks the program for so long, prints what happened and how
 * memory and descriptors went, and ends with 1 when an invariant does not hold.
 *
 * @module
 */

import { ONE_PROGRAM } from "../helpers/program.ts";
import { drainLongQueue } from "./long_queue.ts";
import { courseOf, tableOf } from "./memory.ts";
import { runSoak } from "./run_soak.ts";

const minutes = Number(Deno.env.get("MINUTES") || 10);
const seed = Number(Deno.env.get("SEED") || crypto.getRandomValues(new Uint32Array(1))[0]);
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error("MINUTES is a number above 0, and SEED a whole one: make soak MINUTES=3 SEED=7");
  Deno.exit(2);
}

/** Tasks in the queue that is drained at the end. */
const QUEUED = 10_000;

const began = Date.now();
const say = (text: string) =>
  console.log(`${((Date.now() - began) / 1000).toFixed(0).padStart(5)} s  ${text}`);
say(`soaking svc (${ONE_PROGRAM.name}) for ${minutes} min, seed ${seed}`);
const { moreFaults, counts, lives, totals, ...rest } = await runSoak({
  program: ONE_PROGRAM,
  seed,
  say,
  stormSecs: minutes * 60,
  steadySecs: Math.ceil(minutes * 15),
  killEverySecs: 20,
  crowd: 40,
});
say(`draining a queue of ${QUEUED} tasks`);
const queue = await drainLongQueue(ONE_PROGRAM, QUEUED);
const faults = [...rest.faults, ...queue.faults.map((fault) => `the long queue: ${fault}`)];
console.log(`\n${tableOf(lives)}`);
console.log(`${lives.slice(-1).map(courseOf)}\n`);
for (const [what, times] of counts) console.log(`${String(times).padStart(8)}  ${what}`);
console.log("");
for (const [what, number] of Object.entries(totals)) {
  console.log(`${String(number).padStart(8)}  ${what}`);
}
const { early, late, most } = queue.memoryMb;
console.log(
  `\n${QUEUED} queued tasks drained in ${
    queue.drainSecs.toFixed(0)
  } s; meanwhile svc get task took ` +
    `${queue.getTaskMs.toFixed(0)} ms (median; svc version ${queue.versionMs.toFixed(0)} ms), ` +
    `RSS ${early.toFixed(0)} MB in the second quarter, ${late.toFixed(0)} MB in the last, ` +
    `${most.toFixed(0)} MB at most`,
);
for (const fault of faults) console.log(`\nFAULT  ${fault}`);
if (moreFaults > 0) console.log(`\n${moreFaults} more faults`);
const passed = faults.length === 0;
console.log(`\nsoak ${passed ? "passed" : "failed"}, seed ${seed}`);
Deno.exit(passed ? 0 : 1);
