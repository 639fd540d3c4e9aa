/**
 * The table `waits`, written once for both databases. `rules/waits.ts` decides about their times.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type { JsonObject } from "../../base/json.ts";
import { askedAnew, decideWait, isQuestion } from "../rules/waits.ts";
import {
  type AskedWait,
  type ListedWait,
  type Wait,
  WAIT_KINDS,
  type WaitEnd,
  type WaitEnding,
  type WaitEndResult,
  type WaitKey,
  type WaitKind,
  type WaitPart,
  type WaitPlace,
  type WaitQuery,
} from "../wait_records.ts";
import { json, number, text } from "./columns.ts";
import { addToOutbox } from "./outbox.ts";
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
  wake(db: Db, taskId: string, now: number): void | Promise<void>;
}

/** Opens the wait of a step, once. */
export const openWait = <Db extends SqlSession>(host: WaitHost<Db>) =>
async (
  db: Db,
  asked: AskedWait,
): Promise<Wait> => {
  const { project, parts, messages = [], now } = asked;
  await host.lockTask(db, asked.taskId);
  await host.checkClaim(db, asked.taskId);
  const before = await findWait(db, asked);
  if (before?.end !== undefined) return before;
  if (before === undefined) {
    const from = parts.some(({ kind }) => kind === "message")
      ? { from: await readUpTo(db, asked.taskId) }
      : {};
    for (const [part, { kind, dueAt, isRelative, asked: what = {}, ...rest }] of parts.entries()) {
      const { key, shown } = rest;
      await db.run(
        `INSERT INTO waits (task_id, position, round, part, project, kind, state, asked, due_at,
           is_relative, opened_at, event_trigger, shape, digest, shown)
         VALUES (?, ?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...placeOf(asked),
        part,
        project,
        kind,
        JSON.stringify(kind === "message" ? { ...what, ...from } : what),
        dueAt,
        Number(isRelative),
        now,
        key?.trigger ?? null,
        key?.shape ?? null,
        key?.digest ?? null,
        shown ?? null,
      );
    }
    await addToOutbox(db, messages);
  }
  const wait = before ?? await foundWait(db, asked);
  const decision = decideWait(wait, now);
  if (decision.is === "open") return wait;
  if (decision.is === "over") {
    await end(db, { ...asked, part: decision.part, end: decision.end, now });
  } else {
    for (const [index, part] of wait.parts.entries()) {
      await db.run(
        `UPDATE waits SET opened_at = ?, due_at = ?, asked = ? WHERE ${PLACE} AND part = ?`,
        decision.openedAt,
        decision.dueAts[index] ?? part.dueAt,
        JSON.stringify(askedAnew(part, now)),
        ...placeOf(asked),
        index,
      );
    }
  }
  return await foundWait(db, asked);
};

/** Ends an open wait, and lets its task go on. */
export const endWait = <Db extends SqlSession>(host: WaitHost<Db>) =>
async (
  db: Db,
  { taskId, position, round, part = 0, end: by, arrivedAt, now }: WaitEnding,
): Promise<WaitEndResult> => {
  await host.lockTask(db, taskId);
  if (!await goesOn(db, taskId)) return { is: "ended" };
  const newest = round ?? await newestRound(db, taskId, position);
  const place = { taskId, position, round: newest };
  const asked = by.by === "hand" || arrivedAt !== undefined ? await findWait(db, place) : undefined;
  if (asked !== undefined && by.by === "hand") {
    if (isQuestion(asked)) return { is: "asks people" };
    if (asked.parts.some(({ kind }) => kind === "task")) return { is: "has children" };
  }
  // What came after its time is late, also if nothing has woken the task since: the machine slept.
  const isOpen = asked !== undefined && asked.end === undefined && arrivedAt !== undefined;
  const due = isOpen ? decideWait(asked, arrivedAt) : undefined;
  if (due?.is === "over") {
    await end(db, { ...place, part: due.part, end: due.end, now });
    await host.wake(db, taskId, now);
    return { is: "was over", end: { ...due.end, at: now, part: due.part } };
  }
  if (await end(db, { ...place, part, end: by, now })) {
    await host.wake(db, taskId, now);
    return { is: "over" };
  }
  const wait = await findWait(db, place);
  return wait?.end === undefined ? { is: "none" } : { is: "was over", end: wait.end };
};

/** Whether a task has not ended, nor is to be stopped. */
export async function goesOn(db: SqlSession, taskId: string): Promise<boolean> {
  const row = await db.get(
    `SELECT 1 FROM tasks WHERE id = ? AND ${UNFINISHED} AND cancel_reason IS NULL`,
    taskId,
  );
  return row !== undefined;
}

/** The condition on the three values of {@linkcode placeOf}. */
export const PLACE = "task_id = ? AND position = ? AND round = ?";

/** The position of the first message in the inbox of a task that no step has read. */
async function readUpTo(db: SqlSession, taskId: string): Promise<number> {
  const row = await db.get("SELECT read_up_to FROM tasks WHERE id = ?", taskId);
  return row === undefined ? 0 : number(row, "read_up_to");
}

/** The values of a place. */
export const placeOf = ({ taskId, position, round }: WaitPlace) =>
  [taskId, position, round] as const;

/** The newest round in which a step has waited; 1 if it never has. */
export async function newestRound(
  db: SqlSession,
  taskId: string,
  position: number,
): Promise<number> {
  const row = await db.get(
    "SELECT COALESCE(max(round), 1) AS round FROM waits WHERE task_id = ? AND position = ?",
    taskId,
    position,
  );
  return row === undefined ? 1 : number(row, "round");
}

/**
 * Ends a wait if it is open: of all who try, one is let through. Its other parts are over with it. The
 * caller has locked the task.
 */
export async function end(
  db: SqlSession,
  { part, end, now, ...place }: WaitPlace & {
    readonly part: number;
    readonly end: WaitEnd;
    readonly now: number;
  },
): Promise<boolean> {
  const changed = await db.run(
    `UPDATE waits SET state = 'over', over_at = ?1, result = CASE part WHEN ?2 THEN ?3 END,
       delivery_id = CASE part WHEN ?2 THEN ?4 END
     WHERE task_id = ?5 AND position = ?6 AND round = ?7 AND state = 'open' AND EXISTS (
       SELECT 1 FROM waits AS one WHERE one.task_id = ?5 AND one.position = ?6
         AND one.round = ?7 AND one.part = ?2 AND one.state = 'open')`,
    now,
    part,
    JSON.stringify(end),
    end.by === "event" ? end.deliveryId : null,
    ...placeOf(place),
  );
  if (changed === 0) return false;
  if (end.by === "message") {
    await db.run(
      "UPDATE tasks SET read_up_to = ? WHERE id = ? AND read_up_to <= ?",
      end.position + 1,
      place.taskId,
      end.position,
    );
  }
  return true;
}

async function foundWait(db: SqlSession, place: WaitPlace): Promise<Wait> {
  const wait = await findWait(db, place);
  if (wait === undefined) throw new Error(`The wait of task ${place.taskId} is gone`);
  return wait;
}

/** The wait of a step; `undefined` if it has none. */
export async function findWait(db: SqlSession, place: WaitPlace): Promise<Wait | undefined> {
  const rows = await db.all(
    `SELECT ${WAIT_COLUMNS} FROM waits WHERE ${PLACE} ORDER BY part`,
    ...placeOf(place),
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  const ended = rows.find((row) => row["result"] !== null);
  return {
    ...toPlace(first),
    project: text(first, "project"),
    parts: rows.map(toPart),
    openedAt: number(first, "opened_at"),
    ...defined({ end: ended && toEnd(ended) }),
  };
}

/** The columns of a wait without `shown`, which may be long. */
export const WAIT_COLUMNS = [
  "task_id",
  "position",
  "round",
  "part",
  "project",
  "kind",
  "asked",
  "due_at",
  "is_relative",
  "opened_at",
  "over_at",
  "result",
  "event_trigger",
  "shape",
  "digest",
].map((name) => `waits.${name}`).join(", ");

/** The place of a row of `waits`. */
export function toPlace(row: Row): WaitPlace {
  return {
    taskId: text(row, "task_id"),
    position: number(row, "position"),
    round: number(row, "round"),
  };
}

function toPart(row: Row): WaitPart {
  const asked = json(row, "asked") as JsonObject;
  return {
    kind: text(row, "kind") as WaitKind,
    dueAt: number(row, "due_at"),
    isRelative: row["is_relative"] === 1,
    ...(Object.keys(asked).length === 0 ? {} : { asked }),
    ...(row["event_trigger"] === null ? {} : { key: toKey(row) }),
  };
}

/** The key of a row of a part that waits for an event. */
export function toKey(row: Row): WaitKey {
  return {
    trigger: text(row, "event_trigger"),
    shape: text(row, "shape"),
    digest: text(row, "digest"),
  };
}

function toEnd(row: Row): Wait["end"] & object {
  return {
    ...json(row, "result") as WaitEnd,
    at: number(row, "over_at"),
    part: number(row, "part"),
  };
}

const BY_TIME = "waits.due_at, waits.task_id, waits.position, waits.part";
const BY_PLACE = "waits.task_id, waits.position, waits.round, waits.part";

/** The open parts of waits, the one that is due first at the beginning. */
export async function listWaits(
  db: SqlSession,
  { project, trigger, taskId, kind, limit }: WaitQuery,
): Promise<ListedWait[]> {
  const filters = Object.entries({
    "waits.project": project,
    'tasks."trigger"': trigger,
    "waits.task_id": taskId,
    "waits.kind": kind,
  }).flatMap(([column, value]) => value === undefined ? [] : [{ column, value }]);
  const rows = await db.all(
    `SELECT ${WAIT_COLUMNS}, tasks."trigger", tasks.workflow, plans.plan
     FROM waits ${taskId === undefined ? db.dialect.indexedBy("waits_open") : ""}
     JOIN tasks ON tasks.id = waits.task_id JOIN plans ON plans.hash = tasks.plan_hash
     WHERE waits.state = 'open' ${filters.map(({ column }) => `AND ${column} = ?`).join(" ")}
     ORDER BY ${taskId === undefined ? BY_TIME : BY_PLACE} LIMIT ?`,
    ...filters.map(({ value }) => value),
    limit,
  );
  return rows.map((row) => {
    const place = toPlace(row);
    return {
      ...place,
      ...toPart(row),
      part: number(row, "part"),
      project: text(row, "project"),
      openedAt: number(row, "opened_at"),
      step: stepOf(row, place),
      trigger: text(row, "trigger"),
      workflow: text(row, "workflow"),
    };
  });
}

/** Id of the step at a place, of a row that has its plan, too. */
export function stepOf(row: Row, { position }: Pick<WaitPlace, "position">): string {
  const { steps } = json(row, "plan") as { readonly steps: readonly { readonly id: string }[] };
  return steps[position]?.id ?? "";
}

/** Number of open parts of each kind, of one project or of all if that is empty. */
export async function countWaits(
  db: SqlSession,
  project = "",
): Promise<Readonly<Record<WaitKind, number>>> {
  const counts = WAIT_KINDS.map((kind) => `count(*) FILTER (WHERE kind = '${kind}') AS "${kind}"`);
  const row = await db.get(
    `SELECT ${counts.join(", ")} FROM waits ${db.dialect.indexedBy("waits_open")}
     WHERE state = 'open' AND (?1 = '' OR project = ?1)`,
    project,
  ) ?? {};
  return Object.fromEntries(
    WAIT_KINDS.map((kind) => [kind, number(row, kind)]),
  ) as Record<WaitKind, number>;
}
