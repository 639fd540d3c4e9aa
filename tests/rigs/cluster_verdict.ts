/**
 * Checks a cluster after faults: compares the answers that senders got, the database, the logs of
 * the daemons and the journal of the steps.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { TaskRecord } from "../helpers/daemon.ts";
import type { Books } from "./books.ts";
import type { Cluster } from "./cluster.ts";
import type { Pushes } from "./pushes.ts";
import { findMarkedProcesses } from "../helpers/leftovers.ts";
import { repeated, type StepJournal, type StepRun } from "./step_journal.ts";

/** How often a task is restarted before it fails. */
const MOST_RESTARTS = 3;

export interface Ordeal {
  readonly cluster: Cluster;
  readonly books: Books;
  readonly journal: StepJournal;
  /** They have been stopped. */
  readonly pushes: Pushes;
}

/** Waits until every task has ended, checks everything, and returns the tasks. */
export async function judge(ordeal: Ordeal): Promise<readonly TaskRecord[]> {
  const tasks = await ordeal.cluster.daemons[0]?.settled() ?? [];
  await judgePromises(tasks, ordeal);
  judgeLogs(ordeal.cluster);
  await judgeSteps(tasks, ordeal.journal);
  for (const { dataDir } of ordeal.cluster.daemons) {
    deepEqual(await findMarkedProcesses(dataDir), []);
  }
  return tasks;
}

/**
 * Runs after which their task ran again although the lease of their node had not ended: every end
 * of a lease is in the log of its daemon.
 */
export async function repeatedUnderLease(
  { daemons }: Cluster,
  journal: StepJournal,
): Promise<readonly (readonly [StepRun, StepRun])[]> {
  const ends = new Map(daemons.map(({ dataDir, log }) => {
    const lines = log.matchAll(/^(\S+) WARN +the lease of this node has expired/gm);
    return [dataDir, [...lines].map(([, at = ""]) => Date.parse(at))];
  }));
  return repeated(await journal.runs()).filter(([{ dataDir, from }, next]) =>
    !(ends.get(dataDir) ?? []).some((at) => from <= at && at <= next.from)
  );
}

/** Each push that was answered 200 is one task, and there is no other task. */
async function judgePromises(
  tasks: readonly TaskRecord[],
  { pushes, books }: Ordeal,
): Promise<void> {
  deepEqual(pushes.faults, []);
  const stored = [...pushes.stored];
  deepEqual(stored.filter(([, named]) => named.size !== 1), [], "each push named one task");
  deepEqual(
    tasks.map(({ id }) => id).toSorted(),
    stored.flatMap(([, named]) => [...named]).toSorted(),
    "each 200 is one task, and each task is of a 200",
  );
  deepEqual(await books.accepted(), stored.map(([id]) => id).toSorted(), "each key once");
  await books.agree(); // so no job is left
}

/** No task ended twice, and no daemon failed. */
function judgeLogs({ pastLogs, daemons }: Cluster): void {
  const each = [...pastLogs, ...daemons.map(({ log }) => log)];
  const logs = each.join("\n");
  const ends = Map.groupBy(
    logs.matchAll(/.* task ended task=(\w+).*/g),
    ([, id]) => id,
  );
  deepEqual(
    [...ends].filter(([, lines]) => lines.length > 1).map(([id]) => linesOf(id, each)),
    [],
    "no task ended twice",
  );
  deepEqual(logs.match(/.*(?:failed inside|ERROR .*could not be stored).*/g), null);
}

/** What each log says of a task. */
const linesOf = (id: string | undefined, logs: readonly string[]) =>
  logs.map((log) => log.split("\n").filter((line) => line.includes(`${id}`)));

/**
 * Every task ran to its end, never beside itself, and to a second end only where it was taken over.
 */
async function judgeSteps(tasks: readonly TaskRecord[], journal: StepJournal): Promise<void> {
  deepEqual(
    tasks.filter(({ state, reason, restarts }) =>
      state !== "succeeded" && !(reason === "interrupted" && restarts >= MOST_RESTARTS)
    ),
    [],
  );
  deepEqual(await journal.overlaps(), [], "no step beside its successor");
  const of = Map.groupBy(await journal.runs(), ({ taskId }) => taskId);
  deepEqual(
    tasks.filter(({ id, state, restarts }) => {
      const done = (of.get(id) ?? []).filter(({ isDone }) => isDone).length;
      return state === "succeeded" && done === 0 || done > 1 + restarts;
    }),
    [],
    "each ran to its end, and to another one only where it was taken over",
  );
}
