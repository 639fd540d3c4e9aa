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
import { text } from "../../sql/columns.ts";
import { DELIVERY_COLUMNS, toDelivery, unindexedConditions } from "../../sql/deliveries.ts";
import { idRange, oldestIdSince, ordered, where } from "../../sql/queries.ts";
import type { SqlValue } from "../../sql/row.ts";
import type { Database } from "../engine/database.ts";
import { newestIds, ofEachProject } from "../engine/newest.ts";

/** Deliveries, in the order of the list. */
export function listDeliveries(db: Database, query: DeliveryQuery): Delivery[] {
  const { project, trigger, outcome, outcomes, limit } = query;
  const rows = Object.assign({}, idRange(query), unindexedConditions(query));
  if (project === undefined) {
    if ((trigger ?? outcome) !== undefined) {
      return ofEachProject(db, "deliveries", query, listDeliveries);
    }
    const { clause, values } = where(rows);
    return listed(db, `${clause} ${ordered(query)} LIMIT ?`, [...values, limit]);
  }
  if (outcome === "failed") return listFailed(db, query, project);
  const ids = newestIds({
    table: "deliveries",
    index: trigger === undefined ? "deliveries_of_project" : "deliveries_of_trigger",
    column: "outcome",
    among: outcomes ??
      DELIVERY_OUTCOMES.filter((known) => outcome === undefined || known === outcome),
    conditions: Object.assign({ "project = ?": project, '"trigger" = ?': trigger }, rows),
    limit,
    oldestFirst: query.oldestFirst === true,
  });
  return listed(db, `WHERE id IN (${ids.sql}) ${ordered(query)}`, ids.values);
}

/** Deliveries of which a task has failed. */
function listFailed(db: Database, query: DeliveryQuery, project: string): Delivery[] {
  const { trigger, limit } = query;
  const index = trigger === undefined ? "tasks_failed_of_project" : "tasks_failed_of_trigger";
  const own = where(unindexedConditions(query));
  const found: Delivery[] = [];
  for (let rest = query; found.length < limit;) {
    const { clause, values } = where(Object.assign(
      { "project = ?": project, '"trigger" = ?': trigger },
      idRange(rest, "delivery_id"),
    ));
    const ids = db.all(
      `SELECT DISTINCT delivery_id AS id FROM tasks INDEXED BY ${index} ${clause}
         AND state = 'failed' ${ordered(query, "delivery_id")} LIMIT ?`,
      ...values,
      limit,
    ).map((row) => text(row, "id"));
    const last = ids.at(-1);
    if (last === undefined) break;
    rest = query.oldestFirst === true ? { ...rest, after: last } : { ...rest, before: last };
    found.push(...listed(
      db,
      `${own.clause === "" ? "WHERE" : `${own.clause} AND`}
         id IN (SELECT value FROM json_each(?)) ${ordered(query)}`,
      [...own.values, JSON.stringify(ids)],
    ));
  }
  return found.slice(0, limit);
}

function listed(db: Database, tail: string, values: readonly SqlValue[]): Delivery[] {
  return db.all(`SELECT ${DELIVERY_COLUMNS} FROM deliveries ${tail}`, ...values).map(toDelivery);
}

/** Values of a header, newest first. */
export function listHeaderValues(
  db: Database,
  { project, header, since, before, limit }: HeaderQuery,
): HeaderPage {
  const { clause, values } = where({
    "id >= ?": oldestIdSince(since),
    "id < ?": before,
  });
  // The headers stand before the body, which is not read.
  const rows = db.all(
    `SELECT id, CASE WHEN project = ? AND outcome <> 'rejected'
       THEN json_extract(headers, ?) END AS value
     FROM deliveries ${clause} ORDER BY id DESC LIMIT ?`,
    project,
    `$.${JSON.stringify(header)}`,
    ...values,
    limit,
  );
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    values: rows.flatMap(({ value }) => typeof value === "string" ? [value] : []),
    ...(last === undefined ? {} : { before: text(last, "id") }),
  };
}
