/**
 * Retention: removes old tasks and deliveries, a few at a time, so that other calls do not wait
 * long. Each call reads a bounded number of rows and continues where the last one stopped.
 *
 * @module
 */

import { number, text } from "../../sql/columns.ts";
import { taskIdsOf } from "../../sql/deliveries.ts";
import { beginningOf, LATER } from "../../sql/inbox.ts";
import { ENDED_STATES, toRemovedTask } from "../../sql/tasks.ts";
import type { Database } from "../engine/database.ts";
import { positionOf, savePosition } from "../../sql/prune_positions.ts";
import type { PruneRequest, PruneResult, TriggerKey } from "../../retention_store.ts";
import type { Row } from "../../sql/row.ts";
import { releasePlan } from "./plan_rows.ts";
import { newestIds } from "../engine/newest.ts";

/** Index entries that one call reads to find triggers with too many tasks: some 3 ms. */
const ENTRIES_PER_CALL = 10_000;
/** Entries that a trigger counts in addition to those of its tasks. */
const PER_TRIGGER = 10;
/** Tasks that a query reads beyond its limit, to pass over those whose end is not handled yet. */
const UNHANDLED_MARGIN = 1000;
/**
 * Deliveries that one call reads (some 4 ms), and how many at a time: mostly the first is too
 * young.
 */
const DELIVERIES_PER_CALL = 500;
const PAGE_SIZE = 50;
/** Deduplication keys that one call reads. */
const KEYS_PER_CALL = 1000;

/** A task stays until its triggers have fired for its end. */
const END_HANDLED = "NOT EXISTS (SELECT 1 FROM task_ends WHERE task_ends.task_id = tasks.id)";

/** Removes ended tasks that are too old or too many; returns the removed ones. */
export async function pruneTasks(
  db: Database,
  { before, keep, limit }: { before: number; keep?: number; limit: number },
): Promise<{ id: string; directory: string }[]> {
  const old = db.all(
    `SELECT id, directory, plan_hash FROM tasks
     WHERE finished_at IS NOT NULL AND finished_at < ? AND ${END_HANDLED}
     ORDER BY finished_at LIMIT ?`,
    before,
    limit,
  );
  removeTasks(db, old);
  const surplus = keep !== undefined && old.length < limit
    ? await findSurplus(db, keep, limit - old.length)
    : [];
  removeTasks(db, surplus);
  if (old.length + surplus.length > 0) removeKeys(db);
  return [...old, ...surplus].map(toRemovedTask);
}

/** Removes rows of tasks, given with their plans, and those of their steps and inboxes. */
export function removeTasks(db: Database, tasks: readonly Row[]): void {
  for (const row of tasks) {
    const id = text(row, "id");
    db.run("DELETE FROM steps WHERE task_id = ?", id);
    db.run("DELETE FROM inbox WHERE task_id = ?", id);
    db.run("DELETE FROM turns WHERE task_id = ?", id);
    db.run("DELETE FROM waits WHERE task_id = ?", id);
    db.run("DELETE FROM wait_answers WHERE task_id = ?", id);
    db.run("DELETE FROM children WHERE parent_id = ?", id);
    db.run("DELETE FROM conversations WHERE task_id = ?", id);
    db.run("DELETE FROM outputs WHERE task_id = ?", id);
    db.run("DELETE FROM tasks WHERE id = ?", id);
    if (row["plan_hash"] !== null) releasePlan(db, text(row, "plan_hash"));
  }
}

/**
 * Removes keys of tasks that are gone: a key stops repetitions only as long as its task exists. One
 * whose task was deleted by hand names none, and goes by its age.
 */
function removeKeys(db: Database): void {
  db.run(
    `DELETE FROM dedup_keys WHERE position IN (
       SELECT position FROM (SELECT position, task_id FROM dedup_keys ORDER BY position LIMIT ?)
       WHERE task_id <> '' AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = task_id))`,
    KEYS_PER_CALL,
  );
}

/** Project and name of a trigger. */
type Trigger = readonly [string, string];

/** Ended tasks beyond the newest `keep` of their trigger, for one trigger after the other. */
async function findSurplus(db: Database, keep: number, limit: number): Promise<Row[]> {
  const found: Row[] = [];
  let at = JSON.parse(await positionOf(db, "tasks") ?? '["",""]') as Trigger;
  for (let read = 0; read < ENTRIES_PER_CALL && found.length < limit;) {
    const trigger = nextTrigger(db, at);
    if (trigger === undefined) {
      at = ["", ""]; // the next call begins another round
      break;
    }
    const some = surplusOf(db, trigger, { keep, limit: limit - found.length });
    found.push(...some.rows);
    read += some.read + PER_TRIGGER;
    if (found.length < limit) at = trigger; // else there may be more of this one
  }
  await savePosition(db, "tasks", JSON.stringify(at));
  return found;
}

/**
 * The first trigger after another one that has tasks. These are two statements because for
 * `(project, "trigger") > (?, ?)` SQLite reads every task of the trigger that is passed, 5 ms for
 * 50,000.
 */
function nextTrigger(
  db: Database,
  [project, trigger]: Trigger,
  table: "tasks" | "deliveries" = "tasks",
): Trigger | undefined {
  const next = db.get(
    `SELECT project, "trigger" FROM ${table} WHERE project = ? AND "trigger" > ?
     ORDER BY "trigger" LIMIT 1`,
    project,
    trigger,
  ) ?? db.get(
    `SELECT project, "trigger" FROM ${table} WHERE project > ?
     ORDER BY project, "trigger" LIMIT 1`,
    project,
  );
  return next === undefined ? undefined : [text(next, "project"), text(next, "trigger")];
}

function surplusOf(
  db: Database,
  trigger: Trigger,
  { keep, limit }: { keep: number; limit: number },
): { rows: Row[]; read: number } {
  const newest = newestIds({
    table: "tasks",
    index: "tasks_of_trigger",
    column: "state",
    among: ENDED_STATES,
    conditions: { "project = ?": trigger[0], '"trigger" = ?': trigger[1] },
    limit: keep + 1,
  });
  const [row] = db.all(
    `SELECT count(*) AS n, min(id) AS edge FROM (${newest.sql})`,
    ...newest.values,
  );
  const read = number(row ?? {}, "n");
  if (row === undefined || read <= keep) return { rows: [], read };
  const rows: Row[] = [];
  for (const state of ENDED_STATES) {
    rows.push(...db.all(
      `SELECT id, directory, plan_hash FROM (SELECT id, directory, plan_hash FROM tasks
         INDEXED BY tasks_of_trigger
         WHERE project = ? AND "trigger" = ? AND state = ? AND id <= ? ORDER BY id LIMIT ?) AS tasks
       WHERE ${END_HANDLED} LIMIT ?`,
      ...trigger,
      state,
      text(row, "edge"),
      limit - rows.length + UNHANDLED_MARGIN,
      limit - rows.length,
    ));
  }
  return { rows, read };
}

/** Removes deliveries that are too old and whose tasks are gone; returns how many. */
export async function pruneDeliveries(
  db: Database,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  let at = Number(await positionOf(db, "deliveries") ?? 0);
  let removed = 0;
  for (let read = 0; read < DELIVERIES_PER_CALL && removed < limit; read += PAGE_SIZE) {
    const rows = db.all(
      `SELECT rowid, id, received_at, task_id, detail FROM deliveries WHERE rowid > ?
       ORDER BY rowid LIMIT ?`,
      at,
      PAGE_SIZE,
    );
    const young = rows.findIndex((row) => number(row, "received_at") >= before);
    for (const row of young === -1 ? rows : rows.slice(0, young)) {
      if (removed === limit) break;
      at = number(row, "rowid");
      if (!isNeeded(db, row)) removed += db.run("DELETE FROM deliveries WHERE rowid = ?", at);
    }
    if (removed < limit && (young !== -1 || rows.length < PAGE_SIZE)) {
      at = 0; // all others are younger: the next call begins another round
      break;
    }
  }
  await savePosition(db, "deliveries", String(at));
  return removed;
}

/** Removes those of these records that are old enough and that nothing needs. */
export function pruneRecords(
  db: Database,
  { tasks, deliveries, before }: PruneRequest,
): PruneResult {
  const ended = db.all(
    `SELECT id, directory, plan_hash FROM tasks WHERE id IN (SELECT value FROM json_each(?))
       AND finished_at < ? AND ${END_HANDLED}`,
    JSON.stringify(tasks),
    before,
  );
  removeTasks(db, ended);
  if (ended.length > 0) removeKeys(db);
  let removed = 0;
  for (const id of deliveries) {
    const row = db.get(
      "SELECT id, task_id, detail FROM deliveries WHERE id = ? AND received_at < ?",
      id,
      before,
    );
    if (row === undefined) continue;
    pruneEvent(db, id);
    if (!isNeeded(db, row)) removed += db.run("DELETE FROM deliveries WHERE id = ?", id);
  }
  return { tasks: ended.map(toRemovedTask), deliveries: removed };
}

/** Removes the chat event of a delivery, unless something needs it. */
function pruneEvent(db: Database, deliveryId: string): void {
  db.run(
    `DELETE FROM source_events WHERE delivery_id = ?1 AND state NOT IN ('received', 'routing')
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = source_events.task_id)
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.delivery_id = ?1 AND retry_of IS NOT NULL)`,
    deliveryId,
  );
}

/** Names of all triggers that have tasks or deliveries. */
export function listRecordTriggers(db: Database): TriggerKey[] {
  const found = new Map<string, TriggerKey>();
  for (const table of ["tasks", "deliveries"] as const) {
    let at: Trigger = ["", ""];
    for (let next = nextTrigger(db, at, table); next !== undefined;) {
      at = next;
      found.set(JSON.stringify(at), { project: at[0], trigger: at[1] });
      next = nextTrigger(db, at, table);
    }
  }
  return [...found.values()];
}

/** Whether a task, a chat event or another delivery needs this one, which may hold its payload. */
function isNeeded(db: Database, row: Row): boolean {
  return taskIdsOf(row).some((id) =>
    db.get("SELECT 1 FROM tasks WHERE id = ?", id) !== undefined
  ) || db.get(
        "SELECT 1 FROM tasks WHERE delivery_id = ? AND retry_of IS NOT NULL LIMIT 1",
        text(row, "id"),
      ) !== undefined ||
    db.get("SELECT 1 FROM source_events WHERE delivery_id = ? LIMIT 1", text(row, "id")) !==
      undefined ||
    db.get("SELECT 1 FROM deliveries WHERE content_of = ? LIMIT 1", text(row, "id")) !==
      undefined ||
    hasGoneOver(db, row);
}

/** Whether the delivery was a message to a task that is gone, and has gone over to one that is stored. */
function hasGoneOver(db: Database, row: Row): boolean {
  const like = beginningOf({ delivery_id: text(row, "id") });
  return taskIdsOf(row).some((id) =>
    db.get(
      `WITH RECURSIVE ${LATER} SELECT 1 FROM later JOIN inbox ON task_id = later.id
         WHERE message LIKE ?2 LIMIT 1`,
      id,
      like,
    ) !== undefined
  );
}
