/**
 * Retention of the records of single triggers. One daemon does it at a time.
 *
 * @module
 */

import type { PruneRequest, PruneResult, TriggerKey } from "../retention_store.ts";
import { text } from "../sql/columns.ts";
import type { Session } from "./database/connections.ts";
import { pruneTheseDeliveries } from "./deliveries/prune_rows.ts";
import { pruneTheseTasks } from "./tasks/prune_rows.ts";

/** Removes those of these records that are old enough and that nothing needs. */
export async function pruneRecords(
  db: Session,
  { tasks, deliveries, before }: PruneRequest,
): Promise<PruneResult> {
  if (!await db.tryLock("retention/triggers")) return { tasks: [], deliveries: 0 };
  return {
    tasks: await pruneTheseTasks(db, tasks, before),
    deliveries: await pruneTheseDeliveries(db, deliveries, before),
  };
}

/** Most triggers that are gone through. */
const MOST_TRIGGERS = 100_000;

/** Each trigger of a table, found from the one before. */
const triggersOf = (table: "tasks" | "deliveries") =>
  `(WITH RECURSIVE triggers AS (
    SELECT ''::text COLLATE "C" AS project, ''::text COLLATE "C" AS "trigger", 0 AS n
    UNION ALL
    SELECT next.project, next."trigger", n + 1 FROM triggers CROSS JOIN LATERAL (
      SELECT project, "trigger" FROM ${table}
      WHERE (project, "trigger") > (triggers.project, triggers."trigger")
      ORDER BY project, "trigger" LIMIT 1) AS next
    WHERE n < ${MOST_TRIGGERS})
  SELECT project, "trigger" FROM triggers WHERE n > 0)`;

/** Names of all triggers that have tasks or deliveries. */
export async function listRecordTriggers(db: Session): Promise<TriggerKey[]> {
  const rows = await db.all(`${triggersOf("tasks")} UNION ${triggersOf("deliveries")}`);
  return rows.map((row) => ({ project: text(row, "project"), trigger: text(row, "trigger") }));
}

/** Does nothing, because PostgreSQL manages its own write-ahead log. */
export function emptyLog(): Promise<void> {
  return Promise.resolve();
}
