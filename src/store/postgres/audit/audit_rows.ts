/**
 * The table `plugin_audit`. Each write adds links to a chain of `audit_chain.ts`: a row to that of
 * the node that starts it, and its end to the same chain, also where another node finishes it.
 *
 * @module
 */

import type { AuditEnd, AuditQuery, AuditRow, AuditStart } from "../../audit_records.ts";
import { auditEndColumns, auditStartColumns, toAuditRow } from "../../sql/audit.ts";
import { text } from "../../sql/columns.ts";
import { insertion, ordered, prefixEnd, textRange, where } from "../../sql/queries.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import type { Session } from "../database/connections.ts";
import { isGoneSql } from "../database/ownership.ts";
import { addLinks, type RowPart } from "./audit_chain.ts";

/** Rows and ends that are written together. */
export interface AuditWrites {
  /** New rows; those with an end are over already. */
  readonly rows: readonly { readonly start: AuditStart; readonly end?: AuditEnd }[];
  /** Ends of rows that run, by their ids; a finished row stays as it is. */
  readonly ends: ReadonlyMap<string, AuditEnd>;
}

/** Writes rows and ends with their links. */
export async function writeAudit(db: Session, { rows, ends }: AuditWrites): Promise<void> {
  const added = rows.length === 0 ? [] : await insert(db, rows);
  const ended = ends.size === 0 ? [] : await finish(db, ends);
  const covered = [
    ...added.flatMap((row): RowPart[] =>
      row["result"] === "running"
        ? [{ row, link: "start" }]
        : [{ row, link: "start" }, { row, link: "finish" }]
    ),
    ...ended.map((row): RowPart => ({ row, link: "finish" })),
  ];
  const chains = Map.groupBy(covered, ({ row }) => text(row, "chain"));
  for (const chain of [...chains.keys()].toSorted()) {
    await addLinks(db, chain, chains.get(chain) ?? []);
  }
}

function insert(db: Session, rows: AuditWrites["rows"]): Promise<Row[]> {
  const { node, run } = db.owner;
  const { sql, values } = insertion(
    "plugin_audit",
    rows.map(({ start, end }) =>
      Object.assign(
        { finished_at: null, exit_code: null, duration_ms: null, node, run, chain: node },
        auditStartColumns(start),
        end === undefined ? {} : auditEndColumns(end),
      )
    ),
  );
  return db.all(`${sql} RETURNING *`, ...values);
}

function finish(db: Session, ends: AuditWrites["ends"]): Promise<Row[]> {
  const values = [...ends].map(([id, end]) => {
    const { result, finished_at, exit_code, duration_ms, stderr } = auditEndColumns(end);
    return [id, result, finished_at, exit_code, duration_ms, stderr];
  });
  return db.all(
    `UPDATE plugin_audit SET result = ends.result, finished_at = ends.finished_at,
       exit_code = ends.exit_code, duration_ms = ends.duration_ms, stderr = ends.stderr
     FROM (VALUES ${values.map(() => "(?, ?, ?, ?::bigint, ?::bigint, ?)").join(", ")})
       AS ends (id, result, finished_at, exit_code, duration_ms, stderr)
     WHERE plugin_audit.id = ends.id AND plugin_audit.result = 'running' RETURNING plugin_audit.*`,
    ...values.flat(),
  );
}

/** Takes over the rows of plugins that run for a daemon that is gone, oldest first. */
export async function claimInterruptedAudits(db: Session): Promise<AuditRow[]> {
  const { node, run } = db.owner;
  const rows = await db.all(
    `UPDATE plugin_audit SET node = ?, run = ? WHERE id IN (
       SELECT id FROM plugin_audit WHERE result = 'running' AND ${isGoneSql("plugin_audit")}
       FOR UPDATE SKIP LOCKED)
     RETURNING *`,
    node,
    run,
  );
  return rows.map(toAuditRow).toSorted((a, b) => a.id < b.id ? -1 : 1);
}

/** Audit rows, in the order of the list. */
export async function listAudit(db: Session, query: AuditQuery): Promise<AuditRow[]> {
  const { clause, values } = where(Object.assign(
    { '"trigger" = ?': query.trigger, "result = ?": query.outcome },
    textRange(query, "created_at"),
  ));
  return await readRows(db, `${clause} ${ordered(query)} LIMIT ?`, [...values, query.limit]);
}

async function readRows(
  db: Session,
  tail: string,
  values: readonly SqlValue[],
): Promise<AuditRow[]> {
  return (await db.all(`SELECT * FROM plugin_audit ${tail}`, ...values)).map(toAuditRow);
}

/** Audit rows whose id starts with `prefix`, at most two. */
export async function findAudit(db: Session, prefix: string): Promise<AuditRow[]> {
  const range = [prefix, prefixEnd(prefix)];
  return await readRows(db, "WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", range);
}
