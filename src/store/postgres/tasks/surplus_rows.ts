/**
 * Removes ended tasks beyond the newest of each trigger. A call looks at some triggers, and the
 * next call continues after them.
 *
 * @module
 */

import { number, text } from "../../sql/columns.ts";
import { ENDED_STATES } from "../../sql/tasks.ts";
import type { Row } from "../../sql/row.ts";
import type { Session } from "../database/connections.ts";
import { positionOf, savePosition } from "../../sql/prune_positions.ts";

/** Index entries that one call reads to find triggers with too many tasks. */
const ENTRIES_PER_CALL = 10_000;
/** Entries that a trigger counts in addition to those of its tasks. */
const PER_TRIGGER = 10;
/** Tasks that are read beyond the limit, to pass over those whose end is not handled yet. */
const UNHANDLED_MARGIN = 1000;

/** Project and name of a trigger. */
type Trigger = readonly [string, string];

/** A task stays until its triggers have fired for its end. */
export const END_HANDLED =
  "NOT EXISTS (SELECT 1 FROM task_ends WHERE task_ends.task_id = tasks.id)";

/** The `n` triggers that follow another one, each found from the one before. */
const NEXT_TRIGGERS = `WITH RECURSIVE triggers AS (
    SELECT ?1::text COLLATE "C" AS project, ?2::text COLLATE "C" AS "trigger", 0 AS n
    UNION ALL
    SELECT next.project, next."trigger", n + 1 FROM triggers CROSS JOIN LATERAL (
      SELECT project, "trigger" FROM tasks
      WHERE (project, "trigger") > (triggers.project, triggers."trigger")
      ORDER BY project, "trigger" LIMIT 1) AS next
    WHERE n < ?3)`;

/** A query for each final state, so that each reads its part of an index from one end. */
const ofEachState = (query: (state: string) => string) =>
  ENDED_STATES.map((state) => `(${query(state)})`).join(" UNION ALL ");

const OF_TRIGGER = `tasks.project = triggers.project AND tasks."trigger" = triggers."trigger"`;

/** Each of the triggers with its ended tasks up to the newest surplus one, or with none. */
const SURPLUS = `${NEXT_TRIGGERS}
  SELECT triggers.project, triggers."trigger", triggers.n, surplus.id
  FROM triggers
  LEFT JOIN LATERAL (
    SELECT id FROM (${
  ofEachState((state) =>
    `SELECT id FROM tasks WHERE ${OF_TRIGGER} AND state = '${state}' ORDER BY id DESC LIMIT ?4::bigint + 1`
  )
}) AS newest
    ORDER BY id DESC OFFSET ?4 LIMIT 1) AS edge ON true
  LEFT JOIN LATERAL (
    SELECT id FROM (${
  ofEachState((state) =>
    `SELECT id FROM tasks WHERE ${OF_TRIGGER} AND state = '${state}' AND tasks.id <= edge.id
     ORDER BY id LIMIT ?5::bigint + ${UNHANDLED_MARGIN}`
  )
}) AS tasks
    WHERE ${END_HANDLED} ORDER BY id LIMIT ?5) AS surplus ON true
  WHERE n > 0 ORDER BY n, surplus.id`;

/** The position of a new round, before every trigger. */
const START: Trigger = ["", ""];

/** Ids of such tasks, for one trigger after the other. */
export async function findSurplus(db: Session, keep: number, limit: number): Promise<string[]> {
  const at = JSON.parse(await positionOf(db, "tasks") ?? JSON.stringify(START)) as Trigger;
  const most = Math.max(1, Math.floor(ENTRIES_PER_CALL / (keep + limit + PER_TRIGGER)));
  const rows = await db.all(SURPLUS, ...at, most, keep, limit);
  const found = rows.filter(({ id }) => id !== null).slice(0, limit);
  const triggers = [at, ...Map.groupBy(rows, ({ n }) => n).values().map(([row]) => triggerOf(row))];
  const reached = found.length === limit
    ? number(found.at(-1) ?? {}, "n") - 1 // there may be more of the last one
    : triggers.length - 1;
  const next = reached === most || found.length === limit ? triggers[reached] : START;
  await savePosition(db, "tasks", JSON.stringify(next));
  return found.map((row) => text(row, "id"));
}

function triggerOf(row: Row = {}): Trigger {
  return [text(row, "project"), text(row, "trigger")];
}
