/**
 * Reports signs of trouble with the tasks that run here: all workers are busy for long while tasks
 * wait, or a task prints nothing. Each sentence names the command that helps. A fault disappears
 * with its cause.
 *
 * @module
 */

import type { RunningTask, WorkerLoad } from "../tasks/worker_load.ts";

/** After this time without a free worker, while tasks wait, the workers are reported as busy. */
const BUSY_MS = 10 * 60_000;
/**
 * A step is reported as silent after this time, but not before half of its own time limit: agents
 * print nothing for minutes, and a step with a limit of hours may be silent for long.
 */
const SILENT_MS = 30 * 60_000;
/** Most silent tasks with a sentence of their own. */
const NAMED = 3;

/** The time, and the number of tasks that wait for a worker. */
interface WorkerState {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Number of pending tasks; `undefined` if it is not known now. */
  readonly pending: () => Promise<number | undefined>;
}

/** One sentence for each fault. `pending` is called only if all workers are busy. */
export async function workerFaults(
  load: WorkerLoad,
  state: WorkerState,
): Promise<readonly string[]> {
  return [...await allBusy(load, state), ...silentTasks(load.running, state.now)];
}

async function allBusy(
  { workers, running }: WorkerLoad,
  { now, pending }: WorkerState,
): Promise<readonly string[]> {
  if (running.length < workers) return [];
  // All workers have been busy since the newest of their tasks began.
  const busyMs = now - Math.max(...running.map(({ since }) => since));
  if (busyMs < BUSY_MS || (await pending() ?? 0) === 0) return [];
  const who = workers === 1 ? "the only worker has" : `all ${workers} workers have`;
  return [`${who} been busy for ${minutes(busyMs)}: svc get tasks --state running`];
}

function silentTasks(running: readonly RunningTask[], now: number): readonly string[] {
  const silent = running.flatMap(({ id, silentSince = now, mayTakeMs = 0 }) => {
    const silentMs = now - silentSince;
    return silentMs >= Math.max(SILENT_MS, mayTakeMs / 2) ? [{ id, silentMs }] : [];
  });
  if (silent.length > NAMED) {
    const least = Math.min(...silent.map(({ silentMs }) => silentMs));
    return [
      `${silent.length} tasks have printed nothing for at least ${minutes(least)}: ` +
      "svc get tasks --state running",
    ];
  }
  return silent.map(({ id, silentMs }) =>
    `task/${id} has printed nothing for ${minutes(silentMs)}: ` +
    `svc task logs ${id}, svc task cancel ${id}`
  );
}

/** Always in minutes: with another unit the same fault would be reported as a new one. */
function minutes(ms: number): string {
  return `${Math.floor(ms / 60_000)}m`;
}
