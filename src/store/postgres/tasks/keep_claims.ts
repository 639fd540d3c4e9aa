/**
 * Keeps the claims of a node on its running tasks at each renewal of its lease, and finds the tasks
 * that were cancelled or taken over.
 *
 * @module
 */

import { text } from "../../sql/columns.ts";
import type { Session } from "../database/connections.ts";
import { isMineSql } from "../database/ownership.ts";
import type { JobQueue } from "../jobs/job_queue.ts";
import { giveBack, toClaim } from "./claim_rows.ts";
import type { Claims, TaskClaim } from "./claims.ts";

/** A running task that is to be stopped. */
export interface CancelledTask {
  readonly id: string;
  readonly reason: string;
}

/**
 * Keeps the jobs of the running tasks of this node, reports those that another run has claimed, and
 * gives back those that no worker has in hand. Returns those that are to be stopped.
 */
export async function keepClaims(
  db: Session,
  { now, jobs, claims, inHand }: {
    readonly now: number;
    readonly jobs: JobQueue;
    readonly claims: Claims;
    /**
     * The tasks that workers of this run have in hand; none is given back while that is unknown.
     */
    readonly inHand: () => ReadonlySet<string> | undefined;
  },
): Promise<CancelledTask[]> {
  const known = claims.list();
  const rows = await db.all(
    `SELECT id, epoch, cancel_reason FROM tasks WHERE state = 'running' AND ${isMineSql("tasks")}`,
  );
  const mine = rows.map(toClaim);
  const running = new Set(mine.map(({ id }) => id));
  await jobs.touch(db, [...running]);
  await giveBack(db, claims.findIdle(mine, inHand()), now);
  const lost = await findLost(db, known);
  for (const claim of known) {
    if (lost.has(claim.id)) claims.lose(claim);
    else if (!running.has(claim.id)) claims.forget(claim);
  }
  return rows.filter((row) => row["cancel_reason"] !== null)
    .map((row) => ({ id: text(row, "id"), reason: text(row, "cancel_reason") }));
}

/** The ids of the tasks that another run has claimed since. */
async function findLost(db: Session, known: readonly TaskClaim[]): Promise<ReadonlySet<string>> {
  if (known.length === 0) return new Set();
  const rows = await db.all(
    `SELECT id FROM tasks WHERE id = ANY (?) AND NOT ${isMineSql("tasks")}`,
    known.map(({ id }) => id),
  );
  return new Set(rows.map((row) => text(row, "id")));
}
