/**
 * The limits of projects (`maxParallel`), read from the stored resources: a claim of any node sees the one
 * that was applied last.
 *
 * @module
 */

import type { ProjectRoom } from "../pause_records.ts";
import { json, number, text } from "./columns.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

/** The Projects whose manifest names a limit, as their index has them. */
export const LIMITING = `kind = 'Project' AND spec LIKE '%"maxParallel"%'`;

/**
 * The projects with a limit, by name, and how many of their tasks run. `running` is the condition on
 * those that occupy room.
 */
export const listRooms = (running: string) => async (db: SqlSession): Promise<ProjectRoom[]> => {
  const limiting = db.dialect.indexedBy("resources_limiting");
  const limited = (await db.all(
    `SELECT name, spec FROM resources ${limiting} WHERE ${LIMITING} ORDER BY name`,
  )).flatMap(toLimit);
  if (limited.length === 0) return [];
  const counted = await db.all(
    `SELECT project, count(*) AS tasks FROM tasks WHERE ${running} GROUP BY project`,
  );
  const counts = new Map(counted.map((row) => [text(row, "project"), number(row, "tasks")]));
  return limited.map((limit) => ({ ...limit, running: counts.get(limit.project) ?? 0 }));
};

function toLimit(row: Row): Omit<ProjectRoom, "running">[] {
  const { maxParallel: max } = json(row, "spec") as { readonly maxParallel?: unknown };
  // another field may have the word in its text
  return typeof max === "number" ? [{ project: text(row, "name"), max }] : [];
}
