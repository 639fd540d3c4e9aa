/**
 * The PostgreSQL into which `svc db move` writes.
 *
 * @module
 */

import type { Clock, WallClock } from "../../../base/clock.ts";
import { AppError } from "../../../base/errors.ts";
import type { ControlEvent } from "../../audit_records.ts";
import type { LogStore } from "../../log_store.ts";
import type { MovedTable } from "../../sql/moving/moved_table.ts";
import { isNumbered } from "../../sql/moving/moved_table.ts";
import { MADE_TABLES, MOVED, type MOVED_TABLES } from "../../sql/moving/moved_tables.ts";
import { type RowSums, rowSums, type TableSum } from "../../sql/moving/row_sums.ts";
import type { Rows, TargetRows, VerifiedTarget } from "../../sql/moving/target_rows.ts";
import { SHOWING, type ShowingStore } from "../../sql/moving/sampled_records.ts";
import { number, text } from "../../sql/columns.ts";
import { recordControl } from "../../sql/control_audit.ts";
import { READINESS } from "../../sql/readiness.ts";
import { type StoreCall, storeCalls } from "../../store_calls.ts";
import { checkServer } from "../database/check_server.ts";
import {
  Connections,
  type ConnectOptions,
  type KeptConnection,
  type Session,
} from "../database/connections.ts";
import { nameOf } from "../database/database_url.ts";
import { fromPostgresError } from "../database/faults.ts";
import { migrate, readAbout } from "../database/migrate.ts";
import { type PostgresTable, SCHEMA_VERSION } from "../database/migrations.ts";
import { endMove, findMove, markMove, type UnfinishedMove } from "../database/moving.ts";
import { SCHEMA } from "../functions/queue_names.ts";
import { JobQueue } from "../jobs/job_queue.ts";
import { PostgresLogs } from "../logs/postgres_logs.ts";
import { METHODS } from "../methods.ts";
import { readRows, writeRows } from "./target_rows.ts";

/** Does not compile while a table that only PostgreSQL has is not accounted for. */
export const MADE: Readonly<Record<Exclude<PostgresTable, keyof typeof MOVED_TABLES>, string>> =
  MADE_TABLES;

/** The output of tasks, which is in files until it moves. */
const LOGS: readonly [string, MovedTable] = ["task_logs", {
  columns: { task_id: "text", position: "int", bytes: "bytes" },
}];

/** Every table that is written row by row. */
const WRITTEN: readonly (readonly [string, MovedTable])[] = [...MOVED, LOGS];

/** Tables in which rows do not say that a database is in use. */
const ALWAYS_FILLED = new Set(["catalog_version"]);

/** How many jobs are made in one statement. */
const JOBS_AT_ONCE = 1000;

/** Address of the target, and the node that is made there. */
export interface TargetOptions extends Omit<ConnectOptions, "max"> {
  readonly clock: WallClock;
  /** Id of the key with which secrets are sealed. */
  readonly keyId: string;
}

/** What stands in the target before a move. */
export interface TargetFacts {
  /** The database for people: its name and its server. */
  readonly database: string;
  /** A move that has not ended. */
  readonly unfinished: UnfinishedMove | undefined;
}

/** The target, for one move at a time. */
export class MoveTarget implements AsyncDisposable, TargetRows, VerifiedTarget {
  readonly #options: TargetOptions;
  readonly #connections: Connections;
  #kept: KeptConnection | undefined;
  #isMarked = false;
  readonly #newSums: () => RowSums;
  readonly #sums: ReadonlyMap<string, RowSums>;

  private constructor(options: TargetOptions, newSums: () => RowSums) {
    this.#options = options;
    this.#newSums = newSums;
    this.#sums = new Map(WRITTEN.map(([name]) => [name, newSums()]));
    this.#connections = new Connections({ ...options, max: 4 });
  }

  /**
   * Connects, and changes nothing.
   *
   * @throws {AppError} `refused` when the server cannot be used, `overloaded` when it cannot be reached.
   */
  static async open(options: TargetOptions): Promise<MoveTarget> {
    await using opening = new AsyncDisposableStack();
    const target = opening.use(new MoveTarget(options, await rowSums()));
    await checkServer(target.#connections, options.clock);
    opening.move();
    return target;
  }

  /** Whether the database is marked as one that holds a part only. */
  get isMarked(): boolean {
    return this.#isMarked;
  }

  /** A fault of the database as an error of the program; any other error as it is. */
  faultOf(error: unknown): unknown {
    const { user } = this.#connections.address;
    if (error instanceof Error && "code" in error && error.code === "42501") {
      return new AppError(
        "refused",
        `User "${user}" may not do that in ${this.database} (${error.message}): give the address of the owner of the database`,
        { cause: error },
      );
    }
    return fromPostgresError(error);
  }

  /** The database for people. */
  get database(): string {
    return nameOf(this.#connections.address);
  }

  /**
   * Looks at the target, and only reads.
   *
   * @throws {AppError} `refused` when it is in use, or of another schema.
   */
  async look(): Promise<TargetFacts> {
    const unfinished = await this.#connections.use(findMove);
    if (unfinished === undefined) await this.#connections.use((db) => this.#refuseUsed(db));
    return { database: this.database, unfinished };
  }

  /**
   * Marks it, makes its schema, and empties it of what an unfinished move has left.
   *
   * @throws {AppError} `refused` when it is in use, or another move writes to it.
   */
  async begin(move: UnfinishedMove): Promise<void> {
    const kept = this.#kept ??= await this.#connections.keep();
    const { db } = kept;
    await db.exec("SET idle_in_transaction_session_timeout = 0; SET statement_timeout = 0"); // for COPY
    const row = await db.get(
      "SELECT pg_try_advisory_lock(hashtextextended('move', 0))::int AS is_ours",
    );
    if (row?.["is_ours"] !== 1) {
      throw new AppError("refused", `Another "svc db move" writes to ${this.database} now`);
    }
    const isAgain = await kept.transaction(async (db) => {
      await db.lock("schema");
      const unfinished = await findMove(db);
      if (unfinished === undefined) await this.#refuseUsed(db);
      await markMove(db, move);
      return unfinished !== undefined;
    });
    this.#isMarked = true;
    await migrate(this.#connections, { keyId: this.#options.keyId });
    await JobQueue.install(this.#connections);
    if (isAgain) await kept.transaction(emptyAll);
    await db.exec("SET synchronous_commit = off"); // the last commit is on disk, and all before it
  }

  /** Writes the rows of a table; yields their number now and then. They are in when it has ended. */
  async *write(name: string, rows: Rows): AsyncGenerator<number, void, undefined> {
    const table = WRITTEN.find(([one]) => one === name);
    const sums = this.#sums.get(name);
    if (table === undefined || sums === undefined) throw new Error(name);
    yield* writeRows(this.#begun, table, { rows, sums });
  }

  /** Makes what is no copy: the node, the jobs of tasks, the head of the chain, and the numbers. */
  async complete({ name, startedAt }: Pick<UnfinishedMove, "name" | "startedAt">): Promise<void> {
    const { db } = this.#begun;
    const { node } = db.owner;
    await db.run(
      `INSERT INTO nodes (id, name, run, lease_until, judges_from, started_at)
       VALUES (?, ?, '', '-infinity', '-infinity', ?)`,
      node,
      name,
      startedAt,
    );
    await db.exec("UPDATE catalog_version SET version = 1");
    await db.run(
      `INSERT INTO plugin_audit_heads (chain, position, hash)
       SELECT chain, position, hash FROM plugin_audit_chain ORDER BY position DESC LIMIT 1`,
    );
    for (const [table, moved] of MOVED) {
      if (!isNumbered(moved)) continue;
      await db.get(
        `SELECT setval(pg_get_serial_sequence('svc.${table}', 'position'),
           (SELECT coalesce(max(position), 0) + 1 FROM ${table}), false)`,
      );
    }
    await this.#begun.transaction(async (db) => {
      await db.slowly();
      await db.exec("ANALYZE");
    });
    await makeJobs(db);
  }

  /** The sums of the rows that were written, by table. */
  get written(): ReadonlyMap<string, TableSum> {
    return new Map([...this.#sums].map(([name, sums]) => [name, sums.total]));
  }

  /** Reads every table back; yields the number of rows now and then, and gives the sums by table. */
  async *readBack(): AsyncGenerator<number, ReadonlyMap<string, TableSum>, undefined> {
    const found = new Map<string, TableSum>();
    let before = 0;
    for (const table of WRITTEN) {
      const sums = this.#newSums();
      for await (const read of readRows(this.#begun, table, sums)) yield before + read;
      before += sums.total.rows;
      found.set(table[0], sums.total);
    }
    return found;
  }

  /** Shows tasks as a daemon does that runs on it. */
  get store(): ShowingStore {
    const connections = this.#connections;
    return storeCalls(
      [...SHOWING],
      <Name extends typeof SHOWING[number]>(name: Name): StoreCall<Name> => {
        const run = METHODS[name];
        return (...args) => connections.use((db) => run(db, ...args));
      },
    );
  }

  /** The logs, to be read. */
  logs(clock: Clock): LogStore {
    return new PostgresLogs({
      connections: this.#connections,
      clock,
      epochOf: () => undefined,
      add: () => Promise.resolve(false),
      maxStepBytes: 0,
    });
  }

  /** Records the move; everything is on disk when this resolves. */
  async record(event: ControlEvent): Promise<void> {
    await this.#connections.transaction((db) => recordControl(db, event));
  }

  /** Takes the mark off. */
  async end(): Promise<void> {
    await this.#connections.use(endMove);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kept?.[Symbol.dispose]();
    await this.#connections[Symbol.asyncDispose]();
  }

  /** The connection that has the lock of the move. */
  get #begun(): KeptConnection {
    if (this.#kept === undefined) throw new Error("not begun");
    return this.#kept;
  }

  async #refuseUsed(db: Session): Promise<void> {
    const { version } = await readAbout(db);
    const found = version === 0 ? [] : await countRows(db);
    if (found.length > 0) {
      throw new AppError(
        "refused",
        `${this.database} is in use: it has rows of another installation. Give an empty database`,
        { details: found },
      );
    }
    if (version === 0 || version === SCHEMA_VERSION) return;
    throw new AppError(
      "refused",
      `${this.database} has the schema of another version of svc (${version}, this one makes ${SCHEMA_VERSION}): give an empty database`,
    );
  }
}

const TABLES_OF_SVC = `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name,
    tablename FROM pg_tables WHERE schemaname = 'svc' AND tablename NOT IN ('about', 'moving')
  ORDER BY tablename`;

/** The tables of `svc` that have rows, with their number. */
async function countRows(db: Session): Promise<string[]> {
  const found: string[] = [];
  for (const table of await db.all(TABLES_OF_SVC)) {
    const name = text(table, "tablename");
    if (ALWAYS_FILLED.has(name)) continue;
    const rows = number(
      await db.get(`SELECT count(*) AS n FROM ${text(table, "name")}`) ?? {},
      "n",
    );
    if (rows > 0) found.push(`${name}: ${rows} ${rows === 1 ? "row" : "rows"}`);
  }
  return found;
}

/** Empties every table, and the queue of jobs. */
async function emptyAll(db: Session): Promise<void> {
  await db.slowly();
  const tables = (await db.all(TABLES_OF_SVC)).filter((row) =>
    !ALWAYS_FILLED.has(text(row, "tablename"))
  );
  await db.exec(
    `TRUNCATE ${tables.map((row) => text(row, "name")).join(", ")} RESTART IDENTITY;
     DELETE FROM ${SCHEMA}.job`,
  );
}

/** Makes the jobs of tasks that are ready or run, as an accept does. */
async function makeJobs(db: Session): Promise<void> {
  for (let after = "";;) {
    const rows = await db.all(
      `SELECT id FROM tasks WHERE id > ? AND plan_hash IS NOT NULL
         AND (state = 'running' OR state = 'pending' AND readiness = ${READINESS.ready})
       ORDER BY id LIMIT ${JOBS_AT_ONCE}`,
      after,
    );
    const ids = rows.map((row) => text(row, "id"));
    const last = ids.at(-1);
    if (last === undefined) return;
    await db.get("SELECT svc.jobs_add(?)", ids);
    after = last;
  }
}
