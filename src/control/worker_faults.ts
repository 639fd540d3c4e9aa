/**
 * What may be wrong with the tasks that run here: all workers taken for long while others wait, or a
 * task of which nothing comes. Each is a fact with the command that helps, and gone when it is over.
 *
 * @module
 */

import type { RunningTask, WorkerLoad } from "../tasks/worker_load.ts";

/** For so long no worker was free, and tasks wait: shorter than an agent works, and worth a look. */
const BUSY_MS = 10 * 60_000;
/**
 * A step that has printed nothing for so long, and for half of the time that it may take: agents say
 * nothing for minutes, and who has given a step hours does not want to hear of it before.
 */
const SILENT_MS = 30 * 60_000;
/** Most silent tasks that are named, each with a sentence of its own. */
const NAMED = 3;

/** One sentence for each fault. `pending` is asked for only where it matters. */
export async function workerFaults(
  load: WorkerLoad,
  { now, pending }: {
    /** Milliseconds since the epoch. */
    readonly now: number;
    /** Tasks that wait; `undefined` where that is not to be known now. */
    readonly pending: () => Promise<number | undefined>;
  },
): Promise<readonly string[]> {
  return [...await allBusy(load, { now, pending }), ...silentTasks(load.running, now)];
}

async function allBusy(
  { workers, running }: WorkerLoad,
  { now, pending }: Parameters<typeof workerFaults>[1],
): Promise<readonly string[]> {
  if (running.length < workers) return [];
  // all have had the task that they have since the last of these began
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

/** In minutes alone: with a change of units people would be told of the same fault again. */
function minutes(ms: number): string {
  return `${Math.floor(ms / 60_000)}m`;
}
