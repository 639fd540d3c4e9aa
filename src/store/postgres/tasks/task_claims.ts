/**
 * Which tasks a worker gets. The oldest job names the task, and the row of the task says whether it
 * can be claimed. Job and task are taken in one transaction.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import { whatIsDue } from "../../rules/readiness.ts";
import { earlier } from "../../rules/pauses.ts";
import { text } from "../../sql/columns.ts";
import { READINESS, TIMED } from "../../sql/readiness.ts";
import type { Claim, ClaimedTask } from "../../task_records.ts";
import { releaseDue } from "../../transactions/park_task.ts";
import type { Connections, Session } from "../database/connections.ts";
import type { JobQueue } from "../jobs/job_queue.ts";
import { changeTasks } from "../working_set/change_tasks.ts";
import {
  findReady,
  findRunning,
  readClaimed,
  takeInterrupted,
  type TakenTask,
  takeTasks,
} from "./claim_rows.ts";
import type { Claims, TaskClaim } from "./claims.ts";
import { type Closed, readClosed, readRooms } from "./closed_projects.ts";

/** Most due tasks that one claim handles, so that other calls do not wait long. */
const DUE_BATCH = 500;

/** Tasks that go on at a time: those that have not begun, and those that wait in their midst. */
const THOSE_TIMED = `tasks WHERE ${TIMED}`;
const DELAYED = `tasks WHERE state = 'pending' AND readiness = ${READINESS.delayed}`;
const WAITING = "tasks WHERE state = 'waiting'";

/** The methods of {@linkcode TaskClaims}. */
export type ClaimMethod = "claimTasks" | "claimInterrupted";

export interface ClaimHost {
  readonly connections: Connections;
  readonly jobs: JobQueue;
  readonly claims: Claims;
}

/** Claims the tasks of one store, one call after the other. */
export class TaskClaims {
  readonly #host: ClaimHost;
  #last: Promise<unknown> = Promise.resolve();

  constructor(host: ClaimHost) {
    this.#host = host;
  }

  /** Claims the oldest tasks that are ready: marks them running and returns them. */
  claimTasks(limit: number, now: number): Promise<Claim> {
    const claim = this.#last.then(() => this.#claim(limit, now));
    this.#last = claim.catch(() => {});
    return claim;
  }

  async #claim(limit: number, now: number): Promise<Claim> {
    const { connections, jobs, claims } = this.#host;
    const isTimed = await connections.use(findNextTime) !== undefined;
    if (isTimed) await connections.transaction((db) => releaseDueTasks(db, now));
    const { taken, read, nextAt } = await connections.transaction(async (db) => {
      const closed = await readClosed(db, now);
      const taken = await takeJobs(db, jobs, { limit, now, closed });
      const read = await readClaimed(db, taken.map(({ id }) => id));
      const nextTime = isTimed ? await findNextTime(db) : undefined;
      return { taken, read, nextAt: earlier(nextTime, closed.nextEnd) };
    });
    const { kept, tasks } = handOut(claims, taken, read); // from here on nothing can fail
    const interrupted = new Set(kept.filter((one) => one.isInterrupted).map(({ id }) => id));
    const moves = new Map(kept.map(({ id, move }) => [id, move]));
    const [takenOver, fresh] = split(
      tasks.map((claimed) => {
        const move = moves.get(claimed.task.id);
        return move === undefined ? claimed : { ...claimed, move };
      }),
      ({ task }) => interrupted.has(task.id),
    );
    return {
      tasks: fresh,
      ...(takenOver.length === 0 ? {} : { interrupted: takenOver }),
      ...defined({ nextAt }),
    };
  }

  /** Takes over what a former run of this node has left running. */
  async claimInterrupted(): Promise<ClaimedTask[]> {
    const { connections, jobs, claims } = this.#host;
    const { taken, read } = await connections.transaction(async (db) => {
      const taken = await takeInterrupted(db);
      const ids = taken.map(({ id }) => id);
      await jobs.touch(db, ids);
      return { taken, read: await readClaimed(db, ids) };
    });
    return handOut(claims, taken, read).tasks;
  }
}

/** Notes the claims that were taken, and leaves out what of them was given back by now. */
function handOut<Taken extends TaskClaim>(
  claims: Claims,
  taken: readonly Taken[],
  read: readonly ClaimedTask[],
): { readonly kept: readonly Taken[]; readonly tasks: ClaimedTask[] } {
  const kept = claims.add(taken);
  const ids = new Set(kept.map(({ id }) => id));
  return { kept, tasks: read.filter(({ task }) => ids.has(task.id)) };
}

/** The earliest time of a task that waits for one; `undefined` when none does. */
async function findNextTime(db: Session): Promise<number | undefined> {
  const at = (await db.get(`SELECT min(run_at) AS at FROM ${THOSE_TIMED}`))?.["at"];
  return typeof at === "number" ? at : undefined;
}

/** Queues tasks whose time has come for room, or makes them ready; one daemon does so at a time. */
async function releaseDueTasks(db: Session, now: number): Promise<void> {
  const { runAtUpTo, createdAfter } = whatIsDue(now);
  await db.lock("due");
  const due = await db.all(
    `(SELECT id, run_at FROM ${THOSE_TIMED} AND run_at <= ?1 ORDER BY run_at LIMIT ?3)
     UNION (SELECT id, run_at FROM ${DELAYED} AND created_at > ?2 ORDER BY created_at LIMIT ?3)
     UNION (SELECT id, run_at FROM ${WAITING} AND waiting_since > ?2 ORDER BY waiting_since LIMIT ?3)
     ORDER BY run_at, id`,
    runAtUpTo,
    createdAfter,
    DUE_BATCH,
  );
  if (due.length === 0) return;
  const ids = due.map((row) => text(row, "id"));
  await changeTasks(
    db,
    (request) => {
      for (const id of ids) request.addTask(id);
    },
    (set) => releaseDue(set, set.findTimed(ids), now),
  );
}

/** Takes jobs until `limit` tasks are taken; not every job has a task that is to be had. */
async function takeJobs(
  db: Session,
  jobs: JobQueue,
  { limit, now, closed }: {
    readonly limit: number;
    readonly now: number;
    readonly closed: Closed;
  },
): Promise<TakenTask[]> {
  const taken: TakenTask[] = [];
  const missed: string[] = [];
  if (closed.everything) return taken;
  const rooms = await readRooms(db, closed);
  while (taken.length < limit) {
    const wanted = limit - taken.length;
    const ids = await jobs.take(db, wanted, {
      except: [...closed.projects, ...rooms.full()],
      rooms: rooms.limited(),
    });
    const fitting = closed.isLimited
      ? rooms.take(await findReady(db, ids)).map(({ id }) => id)
      : ids;
    const some = await takeTasks(db, fitting, now);
    taken.push(...some);
    const had = new Set(some.map(({ id }) => id));
    missed.push(...ids.filter((id) => !had.has(id)));
    if (ids.length < wanted) break;
  }
  if (missed.length > 0) await giveJobsBack(db, missed);
  return taken;
}

/**
 * What becomes of jobs whose task was not to be had. A task that another node runs keeps its job:
 * should that node be gone, it is fetched again. One that has ended, or waits again, needs none.
 */
async function giveJobsBack(db: Session, ids: readonly string[]): Promise<void> {
  const ready = (await findReady(db, ids)).map(({ id }) => id);
  const open = new Set([...ready, ...await findRunning(db, ids)]);
  await db.all(
    "SELECT jobs_put_back(?), jobs_end(?)",
    ready,
    ids.filter((id) => !open.has(id)),
  );
}

function split<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}
