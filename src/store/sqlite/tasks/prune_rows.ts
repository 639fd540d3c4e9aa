/**
 * Retention: removes old tasks and deliveries, a few at a time, so that nobody waits for it. Each
 * call looks at a bounded number of rows and goes on where the last one stopped.
 *
 * @module
 */

import type { TaskState } from "../../task_records.ts";
import { json, number, text } from "../engine/columns.ts";
import type { Database, Row } from "../engine/database.ts";
import { releasePlan } from "./plan_rows.ts";
import { newestIds } from "../engine/queries.ts";

/** Index entries that one call looks at to find triggers with too many tasks: some 3 ms. */
const TASKS_AT_ONCE = 10_000;
/** Entries that a trigger counts beside those of its tasks. */
const PER_TRIGGER = 10;
/** Old tasks of one trigger that nobody has looked at yet, and that do not hide the others. */
const NOT_LOOKED_AT = 1000;
/** Final states. */
const ENDED: readonly TaskState[] = ["succeeded", "failed", "cancelled"];
/**
 * Deliveries that one call looks at, some 4 ms, and reads at once: mostly the first is too young.
 */
const DELIVERIES_AT_ONCE = 500;
const READ_AT_ONCE = 50;
/** Deduplication keys that one call looks at. */
const KEYS_AT_ONCE = 1000;

/** Whose end nobody has looked at yet has to stay until then. */
const LOOKED_AT = "NOT EXISTS (SELECT 1 FROM task_ends WHERE task_ends.task_id = tasks.id)";

/** Removes ended tasks that are too old or too many; gives what was removed. */
export function pruneTasks(
  db: Database,
  { before, keep, limit }: { before: number; keep?: number; limit: number },
): { id: string; directory: string }[] {
  const old = db.all(
    `SELECT id, directory, plan_hash FROM tasks
     WHERE finished_at IS NOT NULL AND finished_at < ? AND ${LOOKED_AT}
     ORDER BY finished_at LIMIT ?`,
    before,
    limit,
  );
  remove(db, old);
  const surplus = keep !== undefined && old.length < limit
    ? findSurplus(db, keep, limit - old.length)
    : [];
  remove(db, surplus);
  if (old.length + surplus.length > 0) removeKeys(db);
  return [...old, ...surplus].map((row) => ({
    id: text(row, "id"),
    directory: row["directory"] === null ? "" : text(row, "directory"),
  }));
}

function remove(db: Database, tasks: readonly Row[]): void {
  for (const row of tasks) {
    const id = text(row, "id");
    db.run("DELETE FROM steps WHERE task_id = ?", id);
    db.run("DELETE FROM inbox WHERE task_id = ?", id);
    db.run("DELETE FROM tasks WHERE id = ?", id);
    if (row["plan_hash"] !== null) releasePlan(db, text(row, "plan_hash"));
  }
}

/** A key stops repetitions only as long as its task is there. */
function removeKeys(db: Database): void {
  db.run(
    `DELETE FROM dedup_keys WHERE position IN (
       SELECT position FROM (SELECT position, task_id FROM dedup_keys ORDER BY position LIMIT ?)
       WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = task_id))`,
    KEYS_AT_ONCE,
  );
}

/** Project and name. */
type Trigger = readonly [string, string];

/** Ended tasks of the triggers in turn that are beyond the newest `keep` of theirs. */
function findSurplus(db: Database, keep: number, limit: number): Row[] {
  const found: Row[] = [];
  let at = JSON.parse(positionOf(db, "tasks") ?? '["",""]') as Trigger;
  for (let looked = 0; looked < TASKS_AT_ONCE && found.length < limit;) {
    const trigger = nextTrigger(db, at);
    if (trigger === undefined) {
      at = ["", ""]; // the next call begins another round
      break;
    }
    const some = surplusOf(db, trigger, { keep, limit: limit - found.length });
    found.push(...some.rows);
    looked += some.looked + PER_TRIGGER;
    if (found.length < limit) at = trigger; // else there may be more of this one
  }
  savePosition(db, "tasks", JSON.stringify(at));
  return found;
}

/**
 * The first trigger behind another one that has tasks. Two statements: for `(project, "trigger") >
 * (?, ?)` SQLite reads every task of the trigger that is left behind, 5 ms for 50,000.
 */
function nextTrigger(db: Database, [project, trigger]: Trigger): Trigger | undefined {
  const next = db.get(
    `SELECT project, "trigger" FROM tasks WHERE project = ? AND "trigger" > ?
     ORDER BY "trigger" LIMIT 1`,
    project,
    trigger,
  ) ?? db.get(
    `SELECT project, "trigger" FROM tasks WHERE project > ? ORDER BY project, "trigger" LIMIT 1`,
    project,
  );
  return next === undefined ? undefined : [text(next, "project"), text(next, "trigger")];
}

function surplusOf(
  db: Database,
  trigger: Trigger,
  { keep, limit }: { keep: number; limit: number },
): { rows: Row[]; looked: number } {
  const newest = newestIds({
    table: "tasks",
    index: "tasks_of_trigger",
    column: "state",
    among: ENDED,
    conditions: { "project = ?": trigger[0], '"trigger" = ?': trigger[1] },
    limit: keep + 1,
  });
  const [row] = db.all(
    `SELECT count(*) AS n, min(id) AS edge FROM (${newest.sql})`,
    ...newest.values,
  );
  const looked = number(row ?? {}, "n");
  if (row === undefined || looked <= keep) return { rows: [], looked };
  const rows: Row[] = [];
  for (const state of ENDED) {
    rows.push(...db.all(
      `SELECT id, directory, plan_hash FROM (SELECT id, directory, plan_hash FROM tasks
         INDEXED BY tasks_of_trigger
         WHERE project = ? AND "trigger" = ? AND state = ? AND id <= ? ORDER BY id LIMIT ?) AS tasks
       WHERE ${LOOKED_AT} LIMIT ?`,
      ...trigger,
      state,
      text(row, "edge"),
      limit - rows.length + NOT_LOOKED_AT,
      limit - rows.length,
    ));
  }
  return { rows, looked };
}

/** Removes deliveries that are too old and whose tasks are gone; how many. */
export function pruneDeliveries(
  db: Database,
  { before, limit }: { before: number; limit: number },
): number {
  let at = Number(positionOf(db, "deliveries") ?? 0);
  let removed = 0;
  for (let looked = 0; looked < DELIVERIES_AT_ONCE && removed < limit; looked += READ_AT_ONCE) {
    const rows = db.all(
      `SELECT rowid, id, received_at, task_id, detail FROM deliveries WHERE rowid > ?
       ORDER BY rowid LIMIT ?`,
      at,
      READ_AT_ONCE,
    );
    const young = rows.findIndex((row) => number(row, "received_at") >= before);
    for (const row of young === -1 ? rows : rows.slice(0, young)) {
      if (removed === limit) break;
      at = number(row, "rowid");
      if (!isNeeded(db, row)) removed += db.run("DELETE FROM deliveries WHERE rowid = ?", at);
    }
    if (removed < limit && (young !== -1 || rows.length < READ_AT_ONCE)) {
      at = 0; // all others are younger: the next call begins another round
      break;
    }
  }
  savePosition(db, "deliveries", String(at));
  return removed;
}

/** Whether a task or a source event needs this delivery, which may hold its payload. */
function isNeeded(db: Database, row: Row): boolean {
  const { events = [] } = json(row, "detail") as { events?: { taskId?: string }[] };
  const ids = [text(row, "task_id"), ...events.map(({ taskId = "" }) => taskId)];
  return ids.some((id) =>
    id !== "" && db.get("SELECT 1 FROM tasks WHERE id = ?", id) !== undefined
  ) || db.get(
        "SELECT 1 FROM tasks WHERE delivery_id = ? AND retry_of IS NOT NULL LIMIT 1",
        text(row, "id"),
      ) !== undefined ||
    db.get("SELECT 1 FROM source_events WHERE delivery_id = ? LIMIT 1", text(row, "id")) !==
      undefined;
}

/** Where the removal from a table goes on. */
export function positionOf(db: Database, name: string): string | undefined {
  const row = db.get("SELECT position FROM prune_positions WHERE name = ?", name);
  return row === undefined ? undefined : text(row, "position");
}

/** Notes where the removal from a table goes on. */
export function savePosition(db: Database, name: string, position: string): void {
  if (positionOf(db, name) === position) return;
  db.run(
    "INSERT INTO prune_positions VALUES (?1, ?2) ON CONFLICT DO UPDATE SET position = ?2",
    name,
    position,
  );
}
