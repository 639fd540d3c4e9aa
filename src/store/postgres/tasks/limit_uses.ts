/**
 * How full the groups and workspaces are in which tasks of a list wait, in one statement for all of
 * each sort. Each room costs the same, however many tasks wait in it.
 *
 * @module
 */

import { number, text } from "../../sql/columns.ts";
import type { Row } from "../../sql/row.ts";
import { IN_WORKSPACE, READINESS, UNFINISHED } from "../../sql/readiness.ts";
import { limitId, limitKeyOf, type LimitUse, MOST_COUNTED } from "../../sql/task_readiness.ts";
import type { LimitKey } from "../../transactions/task_rows.ts";
import type { Session } from "../database/connections.ts";

/** How full the limits are in which these tasks are queued, by `limitId`. */
export async function readLimitUses(
  db: Session,
  tasks: readonly Row[],
): Promise<ReadonlyMap<string, LimitUse>> {
  const limits = new Map(
    tasks.flatMap((row) => {
      const limit = limitKeyOf(row);
      return limit === undefined ? [] : [[limitId(limit), limit] as const];
    }),
  );
  const groups = [...limits].filter(([, { of }]) => of === "group");
  const workspaces = [...limits].filter(([, { of }]) => of === "workspace");
  return new Map([
    ...groups.length === 0 ? [] : await groupUses(db, groups),
    ...workspaces.length === 0 ? [] : await workspaceUses(db, workspaces),
  ]);
}

type KeyedLimits = readonly (readonly [key: string, LimitKey])[];

async function groupUses(db: Session, groups: KeyedLimits) {
  const uses = useOf("gate_max", {
    tasks: `tasks WHERE tasks.gate = decode(room.key, 'hex') AND ${UNFINISHED}`,
    queued: READINESS.queuedInGroup,
  });
  return toUses(
    await db.all(
      `SELECT room.key, ${uses} FROM unnest(?::text[]) AS room (key)`,
      groups.map(([key]) => key),
    ),
  );
}

async function workspaceUses(db: Session, workspaces: KeyedLimits) {
  const uses = useOf("workspace_max", {
    tasks: `tasks WHERE tasks.project = room.project AND tasks.workspace = room.name
      AND workspace_max IS NOT NULL AND ${IN_WORKSPACE}`,
    queued: READINESS.queuedInWorkspace,
  });
  const parts = workspaces.map(([, limit]) => limit.of === "workspace" ? limit : undefined);
  return toUses(
    await db.all(
      `SELECT room.key, ${uses}
       FROM unnest(?::text[], ?::text[], ?::text[]) AS room (key, project, name)`,
      workspaces.map(([key]) => key),
      parts.map((limit) => limit?.project ?? ""),
      parts.map((limit) => limit?.name ?? ""),
    ),
  );
}

/** Columns of one limit: each reads a few rows at one end of an index. */
function useOf(
  max: "gate_max" | "workspace_max",
  { tasks, queued }: { readonly tasks: string; readonly queued: number },
): string {
  return `
    (SELECT ${max} FROM ${tasks} AND readiness = ${queued} ORDER BY id DESC LIMIT 1) AS max,
    (SELECT id FROM ${tasks} AND readiness < ${queued} ORDER BY readiness, id LIMIT 1) AS first,
    (SELECT count(*) FROM (SELECT 1 FROM ${tasks} AND readiness < ${queued} LIMIT ${MOST_COUNTED}) AS counted)
      AS open`;
}

function toUses(rows: readonly Row[]): (readonly [string, LimitUse])[] {
  return rows.map((row) => [text(row, "key"), {
    max: typeof row["max"] === "number" ? row["max"] : 0,
    open: number(row, "open"),
    ...(typeof row["first"] === "string" ? { first: row["first"] } : {}),
  }]);
}
