/**
 * How SQLite carries out statements: notes each that it is given, and tells what would look through
 * or sort whole tables as they grow.
 *
 * @module
 */

import { Database } from "../../../src/store/sqlite/engine/database.ts";
import type { SqlValue } from "../../../src/store/sql/row.ts";
import { migrate } from "../../../src/store/sqlite/engine/migrations.ts";
import { tempDir } from "../../helpers/temp_dir.ts";

/** Notes every statement that it is given. */
export class Watched extends Database {
  readonly statements = new Map<string, readonly SqlValue[]>();

  override run(sql: string, ...values: SqlValue[]): number {
    this.statements.set(sql, values);
    return super.run(sql, ...values);
  }

  override get(sql: string, ...values: SqlValue[]) {
    this.statements.set(sql, values);
    return super.get(sql, ...values);
  }

  override all(sql: string, ...values: SqlValue[]) {
    this.statements.set(sql, values);
    return super.all(sql, ...values);
  }

  /** The plans of what was given since the last time, by statement. */
  plans(): { sql: string; plan: string[] }[] {
    const given = [...this.statements].filter(([sql]) =>
      /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)/.test(sql)
    );
    this.statements.clear();
    return given.map(([sql, values]) => ({
      sql: sql.replaceAll(/\s+/g, " ").trim(),
      plan: super.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map((row) => String(row["detail"])),
    }));
  }
}

/** What is bounded by itself: of some tables a few rows are taken, in the order they lie in. */
const BOUNDED: readonly RegExp[] = [
  /^SCAN \(?(subquery-\d+|tasks)\)?$/, // what a subquery with a limit gave
  /^SCAN tasks USING (COVERING )?INDEX tasks_(ready|unready|timed|timed_by_age|waiting|running)$/, // hold nothing else
  /^SCAN waits USING (COVERING )?INDEX waits_(open|for_events)$/, // hold the open ones alone
  /^SCAN children USING (COVERING )?INDEX children_open$/, // holds those that have not ended alone
  /^SCAN (dedup_keys|task_ends)$/, // the first ones
  /^SCAN later$/, // a task with its follow-ups and retries
  /^SCAN pauses$/, // one for each project that a person pauses
  /^SCAN (ready|found)$/, // the values that steps in an index find
  /^SCAN resources USING INDEX resources_limiting$/, // the Projects with a limit alone
  /^SCAN (CONSTANT ROW|json_each VIRTUAL TABLE .*)$/, // what the call itself brings along
];

/**
 * A comparison of several columns at once: every row that is equal is read before the first
 * greater.
 */
const ROW_VALUES = /^SEARCH .*\(\([a-z_,]+\)[<>]/;

/** Whether a statement takes longer the more is stored. */
export const isGrowing = ({ sql, plan }: { sql: string; plan: string[] }) =>
  plan.some((line) =>
    line.startsWith("USE TEMP B-TREE") || ROW_VALUES.test(line) ||
    line.startsWith("SCAN") && !BOUNDED.some((known) => known.test(line)) && !isNewest(sql)
  );

/** Whether nothing but the newest rows is asked for. */
const isNewest = (sql: string) => /FROM \w+ ORDER BY id DESC LIMIT \?($|\))/.test(sql);

/** Runs a test with a fresh database. */
export async function watched(body: (db: Watched) => Promise<void>): Promise<void> {
  await using dir = await tempDir();
  using db = new Watched(`${dir.path}/svc.db`);
  migrate(db);
  await body(db);
}
