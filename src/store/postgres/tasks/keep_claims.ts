/**
 * What a node says of the tasks that it runs whenever it renews its lease, and what it learns of
 * them.
 *
 * @module
 */

import { text } from "../../sql/columns.ts";
import type { Session } from "../database/connections.ts";
import { isMineSql } from "../database/ownership.ts";
import type { JobQueue } from "../jobs/job_queue.ts";
import type { Claims } from "./claims.ts";

/** A running task that is to be stopped. */
export interface CancelledTask {
  readonly id: string;
  readonly reason: string;
}

/** Says of each running task of this node that it still runs; gives those that are to be stopped. */
export async function keepClaims(
  db: Session,
  { jobs, claims }: { readonly jobs: JobQueue; readonly claims: Claims },
): Promise<CancelledTask[]> {
  const known = claims.taskIds();
  const rows = await db.all(
    `SELECT id, cancel_reason FROM tasks WHERE state = 'running' AND ${isMineSql("tasks")}`,
  );
  const running = rows.map((row) => text(row, "id"));
  await jobs.touch(db, running);
  claims.keepOnly(new Set(running), known);
  return rows.filter((row) => row["cancel_reason"] !== null)
    .map((row) => ({ id: text(row, "id"), reason: text(row, "cancel_reason") }));
}
