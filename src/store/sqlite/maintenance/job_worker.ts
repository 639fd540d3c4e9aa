/**
 * A thread for one long job on a database file, which has a connection of its own: the store's
 * thread goes on meanwhile. Looks now and then whether it is to stop.
 *
 * @module
 */

import { systemClock } from "../../../base/clock.ts";
import { backUp } from "./back_up.ts";
import { checkFile } from "./check_file.ts";
import { fromSqliteError } from "../engine/database.ts";
import { type Job, type JobReply, sendError } from "../protocol.ts";

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;
const say = (reply: JobReply) => scope.postMessage(reply);

/** One report for so many steps is plenty. */
const STEPS_PER_REPORT = 32;
/** Longest pause after a step. */
const LONGEST_PAUSE_MS = 50;

async function run(job: Job): Promise<unknown> {
  if (job.type === "check") return checkFile(job.path);
  const stop = new Int32Array(job.stop);
  let steps = 0;
  let since = systemClock.monotonicMs();
  return await backUp(job, (progress) => {
    if (steps++ % STEPS_PER_REPORT === 0) say({ type: "progress", progress });
    // Half the time goes to the others on this disk; being told to stop ends the pause.
    Atomics.wait(stop, 0, 0, Math.min(systemClock.monotonicMs() - since, LONGEST_PAUSE_MS));
    if (Atomics.load(stop, 0) !== 0) throw new Error("Told to stop");
    since = systemClock.monotonicMs();
  });
}

scope.onmessage = async (event: MessageEvent<Job>) => {
  try {
    say({ type: "done", value: await run(event.data) });
  } catch (error) {
    say({ type: "failed", error: sendError(fromSqliteError(error)) });
  }
};
