/**
 * The thread of one long job on a database file. It has a connection of its own, so that the
 * store's thread is not blocked, and checks after each step whether it has to stop.
 *
 * @module
 */

import { systemClock } from "../../../base/clock.ts";
import { backUp } from "./back_up.ts";
import { checkFile, glanceAtFile } from "./check_file.ts";
import type { Progress } from "../../maintenance.ts";
import { measureUsage } from "./measure_usage.ts";
import { fromSqliteError } from "../engine/database.ts";
import { COPIED, type Job, type JobReply, sendError, STOP } from "../protocol.ts";

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;
const say = (reply: JobReply) => scope.postMessage(reply);

/** Progress is reported once per this many steps. */
const STEPS_PER_REPORT = 32;
/** Longest pause after a step. */
const LONGEST_PAUSE_MS = 50;

async function run(job: Job): Promise<unknown> {
  if (job.type === "check") return checkFile(job.path, job.alone);
  if (job.type === "glance") return glanceAtFile(job.path, job.alone);
  const stop = new Int32Array(job.stop);
  let steps = 0;
  let since = systemClock.monotonicMs();
  const endIfAsked = () => {
    if (Atomics.load(stop, STOP) !== 0) throw new Error("It was stopped");
  };
  const onCopied = () => {
    Atomics.store(stop, COPIED, 1);
    endIfAsked(); // who asked before this waits for it
  };
  const onStep = (progress: Progress, isReported: boolean) => {
    if (isReported) say({ type: "progress", progress });
    // Half of the time is left to other users of the disk; a request to stop ends the pause.
    Atomics.wait(stop, STOP, 0, Math.min(systemClock.monotonicMs() - since, LONGEST_PAUSE_MS));
    endIfAsked();
    since = systemClock.monotonicMs();
  };
  if (job.type === "usage") return measureUsage(job, (progress) => onStep(progress, true));
  return await backUp(job, onCopied, (progress) => {
    onStep(progress, steps++ % STEPS_PER_REPORT === 0);
  });
}

scope.onmessage = async (event: MessageEvent<Job>) => {
  try {
    say({ type: "done", value: await run(event.data) });
  } catch (error) {
    say({ type: "failed", error: sendError(fromSqliteError(error)) });
  }
};
