/**
 * The table `waits`, written once for both databases. `rules/waits.ts` decides about their times.
 *
 * @module
 */

import { decideWait } from "../rules/waits.ts";
import {
  type AskedWait,
  type ContinueResult,
  type ListedWait,
  type Wait,
  WAIT_KINDS,
  type WaitEnd,
  type WaitKind,
  type WaitQuery,
} from "../wait_records.ts";
import { json, number, text } from "./columns.ts";
import { UNFINISHED } from "./readiness.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

/** What differs between the databases. */
export interface WaitHost<Db extends SqlSession> {
  /**
   * Refuses a call for a task that another node runs now.
   *
   * @throws {AppError} `conflict`.
   */
  checkClaim(db: Db, taskId: string): void | Promise<void>;
  /**
   * Keeps a task as it is until the transaction ends, and all that waking it may change. Called before
   * anything is read of it.
   */
  lockTask(db: Db, taskId: string): void | Promise<void>;
  /** Lets a task that waits go on. */
  wake(db: Db, taskId: string): void | Promise<void>;
}

/** Opens the wait of a step, once. */
export const openWait = <Db extends SqlSession>(host: WaitHost<Db>) =>
async (
  db: Db,
  asked: AskedWait,
): Promise<Wait> => {
  const { taskId, position, project, kind, dueAt, isRelative, now } = asked;
  await host.checkClaim(db, taskId);
  await db.run(
    `INSERT INTO waits (task_id, position, project, kind, state, due_at, is_relative, opened_at)
       VALUES (?, ?, ?, ?, 'open', ?, ?, ?) ON CONFLICT DO NOTHING`,
    taskId,
    position,
    project,
    kind,
    dueAt,
    Number(isRelative),
    now,
  );
  const wait = await findWait(db, taskId, position);
  if (wait === undefined) throw new Error(`The wait of task ${taskId} is gone`);
  if (wait.end !== undefined) return wait;
  const decision = decideWait(wait, now);
  if (decision.is === "open") return wait;
  if (decision.is === "moved") {
    await db.run(
      `UPDATE waits SET opened_at = ?, due_at = ?
         WHERE task_id = ? AND position = ? AND state = 'open'`,
      decision.openedAt,
      decision.dueAt,
      taskId,
      position,
    );
  } else await end(db, { taskId, position, end: decision.end, now });
  return await findWait(db, taskId, position) ?? wait; // another may have ended it just now
};

/** Ends an open wait by hand, and lets its task go on. */
export const continueWait = <Db extends SqlSession>(host: WaitHost<Db>) =>
async (
  db: Db,
  taskId: string,
  position: number,
  { who, reason, now }: { readonly who: string; readonly reason: string; readonly now: number },
): Promise<ContinueResult> => {
  await host.lockTask(db, taskId);
  const isOpen = await db.get(
    `SELECT 1 FROM tasks WHERE id = ? AND ${UNFINISHED} AND cancel_reason IS NULL`,
    taskId,
  );
  if (isOpen === undefined) return { is: "ended" };
  const ended = await end(db, { taskId, position, end: { by: "hand", who, reason }, now });
  if (ended) {
    await host.wake(db, taskId);
    return { is: "over" };
  }
  const wait = await findWait(db, taskId, position);
  return wait?.end === undefined ? { is: "none" } : { is: "was over", end: wait.end };
};

/** Ends a wait if it is open: of all who try, one is let through. */
async function end(
  db: SqlSession,
  { taskId, position, end, now }: {
    readonly taskId: string;
    readonly position: number;
    readonly end: WaitEnd;
    readonly now: number;
  },
): Promise<boolean> {
  const changed = await db.run(
    `UPDATE waits SET state = 'over', result = ?, over_at = ?
     WHERE task_id = ? AND position = ? AND state = 'open'`,
    JSON.stringify(end),
    now,
    taskId,
    position,
  );
  return changed > 0;
}

async function findWait(
  db: SqlSession,
  taskId: string,
  position: number,
): Promise<Wait | undefined> {
  const row = await db.get(
    "SELECT * FROM waits WHERE task_id = ? AND position = ?",
    taskId,
    position,
  );
  return row && toWait(row);
}

function toWait(row: Row): Wait {
  return {
    taskId: text(row, "task_id"),
    position: number(row, "position"),
    project: text(row, "project"),
    kind: text(row, "kind") as WaitKind,
    dueAt: number(row, "due_at"),
    isRelative: row["is_relative"] === 1,
    openedAt: number(row, "opened_at"),
    ...(row["state"] === "open"
      ? {}
      : { end: { ...json(row, "result") as WaitEnd, at: number(row, "over_at") } }),
  };
}

/** Open waits, the one that is due first at the beginning. */
export async function listWaits(
  db: SqlSession,
  { project, trigger, taskId, limit }: WaitQuery,
): Promise<ListedWait[]> {
  const filters = Object.entries({
    "waits.project": project,
    'tasks."trigger"': trigger,
    "waits.task_id": taskId,
  }).flatMap(([column, value]) => value === undefined ? [] : [{ column, value }]);
  const rows = await db.all(
    `SELECT waits.*, tasks."trigger", tasks.workflow, plans.plan
     FROM waits ${taskId === undefined ? db.dialect.indexedBy("waits_open") : ""}
     JOIN tasks ON tasks.id = waits.task_id JOIN plans ON plans.hash = tasks.plan_hash
     WHERE waits.state = 'open' ${filters.map(({ column }) => `AND ${column} = ?`).join(" ")}
     ORDER BY ${taskId === undefined ? "waits.due_at, " : ""}waits.task_id, waits.position LIMIT ?`,
    ...filters.map(({ value }) => value),
    limit,
  );
  return rows.map((row) => {
    const { end: _none, ...wait } = toWait(row);
    const { steps } = json(row, "plan") as { readonly steps: readonly { readonly id: string }[] };
    return {
      ...wait,
      step: steps[wait.position]?.id ?? "",
      trigger: text(row, "trigger"),
      workflow: text(row, "workflow"),
    };
  });
}

/** Number of open waits of each kind. */
export async function countWaits(db: SqlSession): Promise<Readonly<Record<WaitKind, number>>> {
  const counts = WAIT_KINDS.map((kind) => `count(*) FILTER (WHERE kind = '${kind}') AS "${kind}"`);
  const row = await db.get(
    `SELECT ${counts.join(", ")} FROM waits ${db.dialect.indexedBy("waits_open")}
     WHERE state = 'open'`,
  ) ?? {};
  return Object.fromEntries(
    WAIT_KINDS.map((kind) => [kind, number(row, kind)]),
  ) as Record<WaitKind, number>;
}
