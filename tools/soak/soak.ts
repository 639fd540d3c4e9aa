/**
 * `make soak MINUTES=n [SEED=n] [CLUSTER=1]`: soaks the program for n minutes, prints the counts
 * and the use of memory and descriptors, and exits with 1 if an invariant does not hold.
 *
 * @module
 */

import { ONE_PROGRAM } from "../../tests/helpers/program.ts";
import { drainLongQueue } from "./long_queue.ts";
import { courseOf, tableOf } from "./memory.ts";
import { runSoak } from "./run_soak.ts";

const isCluster = Deno.env.get("CLUSTER") === "1";
const minutes = Number(Deno.env.get("MINUTES") || 10);
const seed = Number(Deno.env.get("SEED") || crypto.getRandomValues(new Uint32Array(1))[0]);
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error("MINUTES is a number above 0, and SEED a whole one: make soak MINUTES=3 SEED=7");
  Deno.exit(2);
}

/** Number of tasks in the queue that is drained at the end. */
const QUEUED = 10_000;

const began = Date.now();
const say = (text: string) =>
  console.log(`${((Date.now() - began) / 1000).toFixed(0).padStart(5)} s  ${text}`);
const what = `${ONE_PROGRAM.name}, ${isCluster ? "several daemons" : "one daemon"}`;
say(`soaking svc (${what}) for ${minutes} min, seed ${seed}`);
const { moreFaults, counts, lives, totals, ...rest } = await runSoak({
  program: { ...ONE_PROGRAM, ...isCluster ? { onPostgres: true } : {} },
  isCluster,
  seed,
  say,
  stormSecs: minutes * 60,
  steadySecs: Math.ceil(minutes * 15),
  killEverySecs: 20,
  crowd: 40,
});
console.log(`\n${tableOf(lives)}`);
console.log(`${lives.slice(-1).map(courseOf)}\n`);
for (const [what, times] of counts) console.log(`${String(times).padStart(8)}  ${what}`);
console.log("");
for (const [what, number] of Object.entries(totals)) {
  console.log(`${String(number).padStart(8)}  ${what}`);
}
const faults = [...rest.faults, ...isCluster ? [] : await drainQueue()];
for (const fault of faults) console.log(`\nFAULT  ${fault}`);
if (moreFaults > 0) console.log(`\n${moreFaults} more faults`);
const passed = faults.length === 0;
console.log(`\nsoak ${passed ? "passed" : "failed"}, seed ${seed}`);
Deno.exit(passed ? 0 : 1);

/** Drains a long queue, prints the result, and returns the faults. */
async function drainQueue(): Promise<string[]> {
  say(`draining a queue of ${QUEUED} tasks`);
  const { faults, drainSecs, getTaskMs, versionMs, memoryMb } = await drainLongQueue(
    ONE_PROGRAM,
    QUEUED,
  );
  const { early, late, most } = memoryMb;
  console.log(
    `\n${QUEUED} queued tasks drained in ${drainSecs.toFixed(0)} s; meanwhile svc get task took ` +
      `${getTaskMs.toFixed(0)} ms (median; svc version ${versionMs.toFixed(0)} ms), ` +
      `RSS ${early.toFixed(0)} MB in the second quarter, ${late.toFixed(0)} MB in the last, ` +
      `${most.toFixed(0)} MB at most`,
  );
  return faults.map((fault) => `the long queue: ${fault}`);
}
