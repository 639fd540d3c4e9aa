/**
 * Reads a database file that moves to PostgreSQL, table by table. No other process may use the file
 * meanwhile, and it stays as it is.
 *
 * @module
 */

import {
  columnsOf,
  isNumbered,
  type MovedTable,
  type MovingTo,
} from "../../sql/moving/moved_table.ts";
import { MOVED, MOVED_TABLES } from "../../sql/moving/moved_tables.ts";
import { SHOWING, type ShowingStore } from "../../sql/moving/sampled_records.ts";
import { type PlacedWorkspace, staysBehind } from "../../rules/placement.ts";
import { json, number, storable, text } from "../../sql/columns.ts";
import { UNFINISHED } from "../../sql/readiness.ts";
import type { Row } from "../../sql/row.ts";
import { type StoreCall, storeCalls, type StoreResult } from "../../store_calls.ts";
import type { StoreMethod } from "../../store.ts";
import { Database, toRead } from "../engine/database.ts";
import type { SqliteTable } from "../engine/migrations.ts";
import { METHODS } from "../methods.ts";

/** Does not compile while a table of a file has no entry. */
export const TABLES: Readonly<Record<SqliteTable, MovedTable | string>> = MOVED_TABLES;

/** Texts that PostgreSQL cannot store as they are. */
export interface OddTexts {
  readonly table: string;
  /** Rows with a NUL, which is replaced by its sign, `\u2400`. */
  readonly nul: number;
  /** Rows with half of a surrogate pair, which is replaced by `\ufffd`. */
  readonly halves: number;
}

const quoted = (name: string) => `"${name}"`;

/** A column as bytes. The driver would cut a text off at a NUL. */
const asBytes = (name: string) => `CAST(${quoted(name)} AS BLOB)`;

/** Texts of a row as one, to look through them at once. */
const joined = (texts: readonly string[], table = "") =>
  `concat_ws(' ', ${texts.map((name) => `${table}${quoted(name)}`).join(", ")})`;

const hasNul = (text: string) => `instr(${text}, char(0)) > 0`;

/** The second bytes of an encoded half: 0xA0 to 0xBF after 0xED. */
const HALVES = Array.from({ length: 32 }, (_, at) => (0xa0 + at).toString(16));

/** A CASE, because SQLite looks at both sides of an AND. */
function hasHalf(text: string): string {
  const bytes = `CAST(${text} AS BLOB)`;
  const any = HALVES.map((second) => `instr(${bytes}, x'ed${second}') > 0`).join(" OR ");
  return `CASE WHEN instr(${bytes}, x'ed') > 0 THEN ${any} ELSE FALSE END`;
}

/** The texts of a table, as the file has them. */
const textsOf = (table: MovedTable) =>
  columnsOf(table, "text").filter((column) => !(column in (table.from ?? {})));

/** The condition that a text of a row has a NUL. */
const nulIn = (name: "tasks" | "steps" | "deliveries") =>
  hasNul(joined(textsOf(MOVED_TABLES[name]), `${name}.`));

/** A file that moves. */
export class MovedFile implements Disposable {
  readonly #db: Database;
  /** Milliseconds since the epoch; of older records, those that nothing kept needs stay behind. */
  readonly #since: number | undefined;
  readonly #stays = new Map<string, boolean>();
  readonly #odd = new Map<string, OddTexts>();

  constructor(path: string, since?: number) {
    this.#db = new Database(path, toRead(path));
    this.#since = since;
    if (since !== undefined) chooseLatest(this.#db, since);
  }

  /** Number of rows that move, of each table. */
  countRows(): ReadonlyMap<string, number> {
    return new Map(
      MOVED.map(([name, table]) => [
        name,
        number(this.#db.get(`SELECT count(*) AS n FROM ${name} ${this.#where(table)}`) ?? {}, "n"),
      ]),
    );
  }

  /** The rows of a table as they are to be stored; not all of them are in memory. */
  *rows(name: string, table: MovedTable, node: string): Generator<Row> {
    const to: MovingTo = { node, staysBehind: (hash) => this.#staysBehind(hash) };
    const { columns, from = {}, change } = table;
    const odd = this.#oddTexts(name, table).nul > 0 ? textsOf(table) : [];
    const selected = Object.keys({ ...columns, ...from }).map((column) =>
      column in from
        ? `${from[column]} AS ${quoted(column)}`
        : odd.includes(column)
        ? `CASE WHEN ${hasNul(quoted(column))} THEN ${asBytes(column)} ELSE ${
          quoted(column)
        } END AS ${quoted(column)}`
        : quoted(column)
    );
    const order = isNumbered(table) ? "ORDER BY rowid" : "";
    const sql = `SELECT ${selected.join(", ")} FROM ${name} ${this.#where(table)} ${order}`;
    for (const row of this.#db.each(sql)) {
      for (const column of odd) {
        const value = row[column];
        if (value instanceof Uint8Array) row[column] = storable(new TextDecoder().decode(value));
      }
      yield change === undefined ? row : Object.assign(row, change(row, to));
    }
  }

  /** The texts that are stored differently, of each table that has some. */
  findOddTexts(): OddTexts[] {
    return MOVED.map(([name, table]) => this.#oddTexts(name, table))
      .filter(({ nul, halves }) => nul + halves > 0);
  }

  /**
   * Ids of tasks to compare: half of them open, where there are so many, and the newest. Those with a
   * NUL are left out: this program shows their texts up to it.
   */
  sampleTasks(count: number): string[] {
    const kept = this.#since === undefined ? "" : "AND tasks.id IN (SELECT id FROM kept_tasks)";
    const idsOf = (condition: string, limit: number) =>
      this.#db.all(
        `SELECT id FROM tasks WHERE ${condition} ${kept} AND NOT (${nulIn("tasks")})
           AND NOT EXISTS (SELECT 1 FROM steps WHERE task_id = tasks.id AND (${nulIn("steps")}))
           AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.id = tasks.delivery_id
             AND (${nulIn("deliveries")}))
         ORDER BY id DESC LIMIT ${limit}`,
      ).map((row) => text(row, "id"));
    const ids = [...idsOf(UNFINISHED, Math.ceil(count / 2)), ...idsOf("TRUE", count)];
    return [...new Set(ids)].slice(0, count);
  }

  /** Whether a task moves. */
  hasTask(id: string): boolean {
    const where = this.#since === undefined ? "" : "AND id IN (SELECT id FROM kept_tasks)";
    return this.#db.get(`SELECT 1 FROM tasks WHERE id = ? ${where}`, id) !== undefined;
  }

  /** Shows tasks as a daemon does that runs on the file. */
  get store(): ShowingStore {
    return storeCalls([...SHOWING], <Name extends StoreMethod>(name: Name): StoreCall<Name> => {
      const run = METHODS[name];
      return (...args) => Promise.resolve(run(this.#db, ...args)) as Promise<StoreResult<Name>>;
    });
  }

  [Symbol.dispose](): void {
    this.#db[Symbol.dispose]();
  }

  #where({ latest }: Pick<MovedTable, "latest">): string {
    if (this.#since === undefined || latest === undefined) return "";
    return `WHERE ${latest.replaceAll(":since", String(this.#since))}`;
  }

  /** Looks through a table once. */
  #oddTexts(name: string, table: MovedTable): OddTexts {
    const known = this.#odd.get(name);
    if (known !== undefined) return known;
    const row = this.#db.get(
      `SELECT sum(${hasNul("text")}) AS nul, sum(${hasHalf("text")}) AS halves
       FROM (SELECT ${joined(textsOf(table))} AS text FROM ${name} ${this.#where(table)})`,
    ) ?? {};
    const odd = { table: name, nul: Number(row["nul"] ?? 0), halves: Number(row["halves"] ?? 0) };
    this.#odd.set(name, odd);
    return odd;
  }

  #staysBehind(hash: string): boolean {
    const known = this.#stays.get(hash);
    if (known !== undefined) return known;
    const row = this.#db.get("SELECT plan FROM plans WHERE hash = ?", hash);
    const plan = row && json(row, "plan") as { readonly workspace?: PlacedWorkspace };
    const stays = plan?.workspace !== undefined && staysBehind(plan.workspace);
    this.#stays.set(hash, stays);
    return stays;
  }
}

/**
 * Tasks that have not ended or are young, those above and below them, and the deliveries of these and
 * young ones. The lists are in memory and not in the file.
 */
function chooseLatest(db: Database, since: number): void {
  db.exec(`PRAGMA temp_store = MEMORY;
    CREATE TEMP TABLE kept_tasks (id TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
    CREATE TEMP TABLE kept_deliveries (id TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;`);
  db.run(
    `INSERT INTO kept_tasks WITH RECURSIVE kept (id) AS (
       SELECT id FROM tasks WHERE ${UNFINISHED} OR finished_at >= ?
         OR id IN (SELECT task_id FROM task_ends)
       UNION SELECT parent_id FROM children JOIN kept ON children.task_id = kept.id
       UNION SELECT task_id FROM children JOIN kept ON children.parent_id = kept.id)
     SELECT id FROM tasks WHERE id IN (SELECT id FROM kept)`,
    since,
  );
  const add = (select: string, ...values: number[]) =>
    db.run(`INSERT OR IGNORE INTO kept_deliveries ${select}`, ...values);
  add("SELECT id FROM deliveries WHERE received_at >= ?", since);
  add("SELECT delivery_id FROM tasks JOIN kept_tasks USING (id)");
  add(`SELECT delivery_id FROM waits WHERE delivery_id IS NOT NULL
    AND task_id IN (SELECT id FROM kept_tasks)`);
  add(`SELECT content_of FROM deliveries JOIN kept_deliveries USING (id)
    WHERE content_of IS NOT NULL`);
}
