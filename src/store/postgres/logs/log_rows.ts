/**
 * The table `task_logs`: the log of a task in blocks, each at its place in it. They go with the row
 * of their task.
 *
 * @module
 */

import { concatBytes } from "../../../base/bytes.ts";
import { bytes, number, text } from "../../sql/columns.ts";
import type { Row } from "../../sql/row.ts";
import type { Session } from "../database/connections.ts";
import { isMineSql } from "../database/ownership.ts";

/** A part of the log of a task. */
export interface LogBlock {
  /** Bytes of the log before it. */
  readonly position: number;
  readonly bytes: Uint8Array;
}

/** A claim of a task: what it writes is refused once there is a later one. */
export interface LogClaim {
  readonly taskId: string;
  /** Number of claims of the task up to that of the writer. */
  readonly epoch: number;
}

/** Parts to be added by a claim. */
export interface NewBlocks extends LogClaim {
  readonly blocks: readonly LogBlock[];
}

/** A claim may write only while its task runs, and this daemon runs it. */
const MAY_WRITE = `tasks.state = 'running' AND ${isMineSql("tasks")}`;

/** The end of the log of a running task; `undefined` when this claim may not write it. */
export async function findEnd(
  db: Session,
  { taskId, epoch }: LogClaim,
): Promise<number | undefined> {
  const row = await db.get(
    `SELECT coalesce((SELECT position + length(bytes) FROM task_logs
       WHERE task_id = tasks.id ORDER BY position DESC LIMIT 1), 0) AS ends
     FROM tasks WHERE id = ? AND epoch = ? AND ${MAY_WRITE}`,
    taskId,
    epoch,
  );
  return row && number(row, "ends");
}

/**
 * Adds blocks; gives for each claim whether it may write. Another daemon that is about to take a
 * task over waits until its blocks are in, or they are refused. A block that was added before, by a
 * call whose answer was lost, is not added again.
 */
export async function addBlocks(db: Session, given: readonly NewBlocks[]): Promise<boolean[]> {
  const all = given.flatMap(({ blocks, ...claim }) => blocks.map((block) => ({ claim, block })));
  const rows = await db.all(
    `WITH given AS (
       SELECT given.*, sum(size) OVER (ORDER BY n) - size AS starts
       FROM unnest(?1::text[], ?2::bigint[], ?3::bigint[], ?4::bigint[])
         WITH ORDINALITY AS given (task_id, epoch, position, size, n)
     ), writing AS (
       SELECT id, epoch FROM tasks WHERE id = ANY(?1) AND ${MAY_WRITE} ORDER BY id FOR SHARE
     ), allowed AS MATERIALIZED (
       SELECT given.* FROM given JOIN writing
         ON writing.id = given.task_id AND writing.epoch = given.epoch
     ), added AS (
       INSERT INTO task_logs (task_id, position, bytes)
       SELECT task_id, position, substring(?5::bytea FROM starts::int + 1 FOR size::int)
       FROM allowed ON CONFLICT DO NOTHING
     ) SELECT DISTINCT task_id, epoch FROM allowed`,
    all.map(({ claim }) => claim.taskId),
    all.map(({ claim }) => claim.epoch),
    all.map(({ block }) => block.position),
    all.map(({ block }) => block.bytes.length),
    concatBytes(...all.map(({ block }) => block.bytes)),
  );
  const allowed = new Set(rows.map((row) => `${text(row, "task_id")}/${number(row, "epoch")}`));
  return given.map(({ taskId, epoch }) => allowed.has(`${taskId}/${epoch}`));
}

/** The last block of a log; `undefined` as long as nothing was written. */
export async function findLastBlock(db: Session, taskId: string): Promise<LogBlock | undefined> {
  const row = await db.get(
    "SELECT position, bytes FROM task_logs WHERE task_id = ? ORDER BY position DESC LIMIT 1",
    taskId,
  );
  return row && toBlock(row);
}

/** The blocks that hold the bytes from `start` up to `end`, in their order. */
export async function blocksOf(
  db: Session,
  taskId: string,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<LogBlock[]> {
  const rows = await db.all(
    `SELECT position, bytes FROM task_logs WHERE task_id = ?1 AND position < ?3
       AND position >= (SELECT position FROM task_logs WHERE task_id = ?1 AND position <= ?2
         ORDER BY position DESC LIMIT 1)
     ORDER BY position`,
    taskId,
    start,
    end,
  );
  return rows.map(toBlock);
}

function toBlock(row: Row): LogBlock {
  return { position: number(row, "position"), bytes: bytes(row, "bytes") };
}
