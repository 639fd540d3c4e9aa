/**
 * Claims in the table `tasks`: a task goes to the run that takes it, with an epoch of its own, and
 * is read with everything that a worker needs.
 *
 * @module
 */

import { type PlacedWorkspace, staysBehind } from "../../rules/placement.ts";
import { json, number, text } from "../../sql/columns.ts";
import type { Row } from "../../sql/row.ts";
import { TASK_COLUMNS, toClaimed } from "../../sql/tasks.ts";
import { CUT_OFF_MS } from "../../sql/parking.ts";
import { READINESS } from "../../sql/readiness.ts";
import type { ClaimedTask, TaskMove } from "../../task_records.ts";
import type { Session } from "../database/connections.ts";
import { isGoneSql, isMineSql } from "../database/ownership.ts";
import type { TaskClaim } from "./claims.ts";
import { endTurns } from "./turn_rows.ts";
import { readSteps } from "./task_lists.ts";

/** A task that was taken. */
export interface TakenTask extends TaskClaim {
  /** Whether a run that is gone had left it running. */
  readonly isInterrupted: boolean;
  /** Absent where no other node has run it. */
  readonly move?: TaskMove;
}

const CAN_BE_TAKEN = `(tasks.state = 'pending' AND tasks.readiness = ${READINESS.ready}
  OR tasks.state = 'running' AND ${isGoneSql("tasks")})`;

/**
 * A restart is counted in the transaction that takes a task over: the answer may be lost, and the
 * task given back.
 */
const TAKE = `UPDATE tasks SET state = 'running', node = ?1, run = ?2, epoch = epoch + 1,
  restarts = restarts + (tasks.state = 'running')::int,
  active_ms = active_ms + CASE WHEN tasks.state = 'running' THEN ${CUT_OFF_MS} ELSE 0 END`;

/**
 * Takes those of these tasks that are ready, or whose run is gone. A task that another transaction
 * is changing is passed over: this transaction has locked its job, and would wait for the task
 * while the other one waits for the job.
 *
 * A task that comes from another node leaves its files there, to be removed.
 */
export async function takeTasks(
  db: Session,
  ids: readonly string[],
  now: number,
): Promise<TakenTask[]> {
  const { node, run } = db.owner;
  const rows = await db.all(
    `WITH old AS (
       SELECT id, state, node, directory FROM tasks
       WHERE id = ANY (?4) AND ${CAN_BE_TAKEN}
       FOR UPDATE SKIP LOCKED),
     taken AS (
       ${TAKE}, started_at = COALESCE(started_at, ?3), claimed_at = ?3,
         directory = CASE WHEN old.node IN ('', ?1) THEN old.directory END
       FROM old WHERE tasks.id = old.id
       RETURNING tasks.id, tasks.epoch, (old.state = 'running')::int AS is_interrupted,
         NULLIF(old.node, ?1) AS node, old.directory),
     left_there AS (
       INSERT INTO files_to_remove (node, task_id, directory)
         SELECT node, id, COALESCE(directory, '') FROM taken WHERE node IN (SELECT id FROM nodes)
       ON CONFLICT (node, task_id) DO UPDATE SET directory = excluded.directory),
     back_here AS (
       DELETE FROM files_to_remove WHERE node = ?1 AND task_id IN (SELECT id FROM taken))
     SELECT taken.id, epoch, is_interrupted, COALESCE(there.name, node, '') AS moved_from,
       COALESCE(here.name, ?1) AS moved_to
     FROM taken LEFT JOIN nodes AS there ON there.id = node LEFT JOIN nodes AS here ON here.id = ?1`,
    node,
    run,
    now,
    ids,
  );
  const moved = rows.filter((row) => row["moved_from"] !== "").map((row) => text(row, "id"));
  const begun = await beginAnew(db, moved, now);
  return rows.map((row) => {
    const isAnew = begun.get(text(row, "id"));
    return {
      ...toClaim(row),
      isInterrupted: row["is_interrupted"] === 1,
      ...(isAnew === undefined
        ? {}
        : { move: { from: text(row, "moved_from"), to: text(row, "moved_to"), isAnew } }),
    };
  });
}

/**
 * Forgets the steps of those of these tasks of another node whose results have stayed there. Of
 * each task with steps that have begun it gives whether they were forgotten.
 */
async function beginAnew(
  db: Session,
  ids: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, boolean>> {
  if (ids.length === 0) return new Map();
  const rows = await db.all(
    `SELECT id, plan FROM tasks JOIN plans ON hash = plan_hash
     WHERE id = ANY (?) AND EXISTS (SELECT 1 FROM steps WHERE task_id = tasks.id)`,
    ids,
  );
  const begun = new Map(rows.map((row) => {
    const { workspace } = json(row, "plan") as { readonly workspace: PlacedWorkspace };
    return [text(row, "id"), staysBehind(workspace)] as const;
  }));
  const anew = [...begun].filter(([, isAnew]) => isAnew).map(([id]) => id);
  await db.run("DELETE FROM steps WHERE task_id = ANY (?)", anew);
  await db.run("DELETE FROM waits WHERE task_id = ANY (?)", anew);
  await db.run("DELETE FROM wait_answers WHERE task_id = ANY (?)", anew); // they are asked anew
  await db.run("UPDATE tasks SET read_up_to = 0 WHERE id = ANY (?) AND read_up_to > 0", anew);
  for (const id of anew) await endTurns(db, id, now); // a step that is not reached yet keeps no seat
  return begun;
}

/** Takes the tasks that a former run of this node has left running. */
export async function takeInterrupted(db: Session): Promise<TaskClaim[]> {
  const { node, run } = db.owner;
  const rows = await db.all(
    `${TAKE}, claimed_at = NULL WHERE state = 'running' AND node = ?1 AND NOT ${isMineSql("tasks")}
     RETURNING id, epoch`,
    node,
    run,
  );
  return rows.map(toClaim);
}

/** The claim of a row. */
export function toClaim(row: Row): TaskClaim {
  return { id: text(row, "id"), epoch: number(row, "epoch") };
}

/** Puts the tasks of claims of this run back in the queue. */
export async function giveBack(
  db: Session,
  claims: readonly TaskClaim[],
  now: number,
): Promise<void> {
  if (claims.length === 0) return;
  const rows = await db.all(
    `UPDATE tasks SET state = 'pending', pending_since = ?
     FROM unnest(?::text[], ?::bigint[]) AS claim (id, epoch)
     WHERE tasks.id = claim.id AND tasks.epoch = claim.epoch AND state = 'running'
       AND ${isMineSql("tasks")}
     RETURNING tasks.id`,
    now,
    claims.map(({ id }) => id),
    claims.map(({ epoch }) => epoch),
  );
  await db.get("SELECT jobs_put_back(?)", rows.map((row) => text(row, "id")));
}

/**
 * Those of these tasks that a claim may take, in the order in which it takes them: they wait for a
 * worker, or their run is gone.
 */
export async function findReady(
  db: Session,
  ids: readonly string[],
): Promise<{ readonly id: string; readonly project: string }[]> {
  const rows = await db.all(
    `SELECT id, project FROM tasks WHERE id = ANY (?) AND ${CAN_BE_TAKEN} ORDER BY priority, id`,
    ids,
  );
  return rows.map((row) => ({ id: text(row, "id"), project: text(row, "project") }));
}

/** Those of these tasks that a node runs. */
export async function findRunning(db: Session, ids: readonly string[]): Promise<string[]> {
  const rows = await db.all(
    "SELECT id FROM tasks WHERE id = ANY (?) AND state = 'running'",
    ids,
  );
  return rows.map((row) => text(row, "id"));
}

/** These tasks with everything that a worker needs, the oldest first. */
export async function readClaimed(db: Session, ids: readonly string[]): Promise<ClaimedTask[]> {
  if (ids.length === 0) return [];
  const rows = await db.all(
    `SELECT ${TASK_COLUMNS}, tasks.trace, tasks.inputs, plans.plan,
       COALESCE(tasks.payload, deliveries.body, shared.body) AS given,
       COALESCE(deliveries.headers, shared.headers, '{}') AS headers,
       COALESCE(deliveries.url, shared.url, '') AS url,
       deliveries.via, deliveries.detail,
       COALESCE(deliveries.remote, '') AS remote FROM tasks
     JOIN plans ON plans.hash = tasks.plan_hash
     LEFT JOIN deliveries ON deliveries.id = tasks.delivery_id
     LEFT JOIN deliveries AS shared ON shared.id = deliveries.content_of
     WHERE tasks.id = ANY (?) ORDER BY tasks.id`,
    ids,
  );
  const steps = await readSteps(db, ids);
  return rows.map((row) => toClaimed(row, steps.get(text(row, "id")) ?? []));
}
