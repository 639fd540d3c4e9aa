/**
 * The bytes that the records of each trigger take, read a slice at a time, in both databases.
 *
 * @module
 */

import type { TriggerUsage, UsageOf } from "../usage.ts";
import { number, text } from "./columns.ts";
import type { Row } from "./row.ts";

/** Records that are read at once. */
export const SLICE_ROWS = 500;

/** The usage of no records, to which rows are added. */
export const EMPTY_USAGE: UsageOf = {
  deliveries: 0,
  bodyBytes: 0,
  deliveryBytes: 0,
  tasks: 0,
  taskBytes: 0,
  logBytes: 0,
  eventBytes: 0,
};

/** A table whose records have a trigger. */
export interface UsageTable {
  readonly name: "deliveries" | "tasks" | "source_events";
  /**
   * The next slice behind an id: a row for each record (`id`) or each trigger (`last`, the last id),
   * with its columns. Takes that id and the number of records.
   */
  readonly sql: string;
  /** The numbers of records and bytes that a row stands for. */
  readonly usage: (row: Row) => UsageOf;
}

/** Makes the SQL for the number of bytes of a column; 0 for null. */
export type SizeOf = (column: string) => string;

/**
 * The tables to read. `isEach` has a row for each task, so that its log can be looked for elsewhere;
 * otherwise logs are in the database, too.
 */
export function usageTables(sizeOf: SizeOf, isEach: boolean): readonly UsageTable[] {
  const sum = (...columns: readonly string[]) => columns.map(sizeOf).join(" + ");
  const inRows = (table: string, ...columns: readonly string[]) =>
    `coalesce((SELECT sum(${sum(...columns)}) FROM ${table} WHERE task_id = slice.id), 0)`;
  // sizes are computed where the rows are read: a value passed on to an outer query would be read whole
  const slice = (table: string, columns: string) =>
    `SELECT id, project, "trigger", ${columns} FROM ${table} AS slice
     WHERE id > ? ORDER BY id LIMIT ?`;
  const grouped = (of: string, columns: readonly string[]) =>
    `SELECT project, "trigger", max(id) AS last, count(*) AS n,
       ${columns.map((column) => `CAST(sum(${column}) AS bigint) AS ${column}`).join(", ")}
     FROM (${of}) AS measured GROUP BY project, "trigger"`;
  const ofTasks = slice(
    "tasks",
    `${sum("payload", "inputs", "reason", "trace", "directory")} +
       ${inRows("steps", "id", "outputs", "reason")} + ${inRows("inbox", "message")} AS data,
     ${isEach ? "0" : inRows("task_logs", "bytes")} AS log`,
  );
  return [
    {
      name: "deliveries",
      sql: grouped(
        slice(
          "deliveries",
          `${sizeOf("body")} AS body, ${sum("headers", "url", "detail", "reason")} AS data`,
        ),
        ["body", "data"],
      ),
      usage: (row) => ({
        ...EMPTY_USAGE,
        deliveries: number(row, "n"),
        bodyBytes: number(row, "body"),
        deliveryBytes: number(row, "data"),
      }),
    },
    {
      name: "tasks",
      sql: isEach ? ofTasks : grouped(ofTasks, ["data", "log"]),
      usage: (row) => ({
        ...EMPTY_USAGE,
        tasks: isEach ? 1 : number(row, "n"),
        taskBytes: number(row, "data"),
        logBytes: number(row, "log"),
      }),
    },
    {
      name: "source_events",
      sql: grouped(
        slice("source_events", `${sum("payload", "text", "reason")} AS data`),
        ["data"],
      ),
      usage: (row) => ({ ...EMPTY_USAGE, eventBytes: number(row, "data") }),
    },
  ];
}

/** Adds up rows by trigger. */
export class UsageSum {
  readonly #triggers = new Map<string, TriggerUsage>();

  /** Counts what a row stands for. */
  add(row: Row, usage: UsageOf): void {
    const [project, trigger] = [text(row, "project"), text(row, "trigger")];
    const key = `${project}/${trigger}`;
    const before = this.#triggers.get(key) ?? { project, trigger, ...EMPTY_USAGE };
    const names = Object.keys(EMPTY_USAGE) as (keyof UsageOf)[];
    const sums = names.map((name) => [name, before[name] + usage[name]]);
    this.#triggers.set(key, { project, trigger, ...Object.fromEntries(sums) } as TriggerUsage);
  }

  /** The sum of each trigger. */
  get triggers(): readonly TriggerUsage[] {
    return [...this.#triggers.values()];
  }
}

/** The id behind which the next slice begins; `undefined` when this was the last one. */
export function lastIdIn(rows: readonly Row[], column: "id" | "last"): string | undefined {
  return rows.map((row) => text(row, column))
    .reduce<string | undefined>(
      (last, id) => last === undefined || id > last ? id : last,
      undefined,
    );
}
