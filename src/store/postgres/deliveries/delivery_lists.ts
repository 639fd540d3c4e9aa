/**
 * Reads the table `deliveries`: lists, and single deliveries with their content.
 *
 * @module
 */

import {
  type Delivery,
  DELIVERY_OUTCOMES,
  type DeliveryQuery,
  type HeaderPage,
  type HeaderQuery,
} from "../../delivery_records.ts";
import { json, text } from "../../sql/columns.ts";
import { DELIVERY_COLUMNS, toDelivery, unindexedConditions } from "../../sql/deliveries.ts";
import { idRange, oldestIdSince, ordered, where } from "../../sql/queries.ts";
import type { Session, Value } from "../database/connections.ts";
import { listed, newestIds, type Query } from "../database/newest.ts";

/** Deliveries, in the order of the list. */
export function listDeliveries(db: Session, query: DeliveryQuery): Promise<Delivery[]> {
  const { project, trigger, outcome, outcomes, ids, limit } = query;
  if (outcome === "failed") return ofIds(db, query, failedIds(query));
  if (ids !== undefined || (project ?? trigger ?? outcome) === undefined) {
    const { clause, values } = where(Object.assign(
      { "project = ?": project, '"trigger" = ?': trigger, "outcome = ?": outcome },
      idRange(query),
      unindexedConditions(query),
    ));
    return read(db, `${clause} ${ordered(query)} LIMIT ?`, [...values, limit]);
  }
  const newest = newestIds({
    table: "deliveries",
    among: {
      column: "outcome",
      values: outcomes ?? (outcome === undefined ? DELIVERY_OUTCOMES : [outcome]),
    },
    conditions: Object.assign(
      { '"trigger" = ?': trigger },
      idRange(query, listed("id")),
      unindexedConditions(query),
    ),
  }, query);
  return ofIds(db, query, newest);
}

/** Deliveries of which a task has failed. */
function failedIds(query: DeliveryQuery): Query {
  const own = where(unindexedConditions(query));
  const id = listed("delivery_id");
  return newestIds({
    table: "tasks",
    conditions: Object.assign({ '"trigger" = ?': query.trigger }, idRange(query, id)),
    select: (clause) => ({
      sql: `SELECT DISTINCT ${id} AS id FROM deliveries JOIN
        (SELECT delivery_id FROM tasks ${clause} AND state = 'failed') AS failed
        ON failed.delivery_id = deliveries.id ${own.clause}`,
      values: own.values,
    }),
  }, query);
}

function ofIds(db: Session, query: DeliveryQuery, { sql, values }: Query): Promise<Delivery[]> {
  return read(db, `WHERE id IN (${sql}) ${ordered(query)}`, values);
}

async function read(db: Session, tail: string, values: readonly Value[]): Promise<Delivery[]> {
  const rows = await db.all(`SELECT ${DELIVERY_COLUMNS} FROM deliveries ${tail}`, ...values);
  return rows.map(toDelivery);
}

/** Values of a header, newest first. */
export async function listHeaderValues(
  db: Session,
  { project, header, since, before, limit }: HeaderQuery,
): Promise<HeaderPage> {
  const { clause, values } = where({ "id >= ?": oldestIdSince(since), "id < ?": before });
  const rows = await db.all(
    `SELECT id, CASE WHEN project = ? AND outcome <> 'rejected' THEN headers END AS headers
     FROM deliveries ${clause} ORDER BY id DESC LIMIT ?`,
    project,
    ...values,
    limit,
  );
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    values: rows.flatMap((row) => {
      // PostgreSQL itself reads no JSON that has a "\u0000" anywhere
      const headers = row["headers"] === null ? {} : json(row, "headers") as Record<string, string>;
      const value = headers[header];
      return typeof value === "string" ? [value] : []; // not what every object has
    }),
    ...(last === undefined ? {} : { before: text(last, "id") }),
  };
}
