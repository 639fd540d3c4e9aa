/**
 * The door to PostgreSQL, the only importer of `pg`: connections, their settings and transactions.
 *
 * @module
 */

import { Buffer } from "node:buffer";
// @ts-types="./pg.d.ts"
import pg from "pg";
import { AppError } from "../../../base/errors.ts";
import { type CopyIn, copyIn, copyOut } from "./copy.ts";
import type { DatabaseAddress } from "./database_url.ts";
import { toAddress, toDriverConfig } from "./driver_config.ts";
import { fromPostgresError, isBroken, isInTheWay } from "./faults.ts";
import { ANSWER_LATE_MS, SLOW_MS, STATEMENT_MS } from "./limits.ts";
import type { Env } from "./password_file.ts";
import type { ClientBase, PoolClient, QueryResult } from "./pg.d.ts";
import { storable } from "../../sql/columns.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import type { Dialect, SqlSession } from "../../sql/session.ts";
import { isMineSql } from "./ownership.ts";
import { numbered } from "./placeholders.ts";

/** A value of a statement; lists for `= ANY(?)`. */
export type Value = SqlValue | boolean | readonly string[] | readonly number[];

/** For whom a connection claims: a node, and one run of its daemon. */
export interface Owner {
  /** Id of the node, which stays the same when its daemon starts again. */
  readonly node: string;
  /** Id of this run of its daemon. */
  readonly run: string;
}

const DIALECT: Dialect = {
  position: "position",
  indexedBy: () => "",
  isMine: isMineSql,
  forUpdate: "FOR UPDATE",
  skipLocked: "FOR UPDATE SKIP LOCKED",
};

/** Where statements run: in an open transaction, or each by itself. */
export interface Session extends SqlSession {
  readonly owner: Owner;
  /** Number of the server's process for this connection. */
  readonly processId: number;
  /** Every row of a statement. Values stand as `?`, or as `?1` where one is used more than once. */
  all(sql: string, ...values: readonly Value[]): Promise<Row[]>;
  /** The first row, if there is one. */
  get(sql: string, ...values: readonly Value[]): Promise<Row | undefined>;
  /** The first row that a statement with `RETURNING` has changed, if there is one. */
  returning(sql: string, ...values: readonly Value[]): Promise<Row | undefined>;
  /** Runs a statement; returns the number of rows that it changed. */
  run(sql: string, ...values: readonly Value[]): Promise<number>;
  /** Runs several statements that take no values. */
  exec(sql: string): Promise<void>;
  /** Lets the statements of this transaction that come next take half an hour each. */
  slowly(): Promise<void>;
  /**
   * As `get`, for a statement that every batch runs: each connection has it parsed once. Its text is
   * its name, which may have 63 characters.
   */
  prepared(sql: string, ...values: readonly Value[]): Promise<Row | undefined>;
  /**
   * Sends the last statement of a transaction, as `prepared` does, and together with the commit
   * where `pipeline` is set: what it gives is not looked at, and when it fails the transaction does.
   */
  last(sql: string, ...values: readonly Value[]): void;
  /**
   * Runs what another package has written: one statement with values (`$1`), or several without.
   */
  native(sql: string, values?: readonly unknown[]): Promise<unknown>;
  /**
   * Waits until no other transaction has any of these locks, and keeps them until this one ends.
   * Takes them in one order, so that two transactions never deadlock. Call it once, before anything
   * is changed.
   */
  lock(...names: readonly string[]): Promise<void>;
  /** Takes a lock until the transaction ends; `false`, without waiting, when another has it. */
  tryLock(name: string): Promise<boolean>;
}

/** Address of a database, and for whom it is opened. */
export interface ConnectOptions {
  /** `postgres://user@host/database`; a socket as `postgres:///database?host=/directory`. */
  readonly url: string;
  readonly owner: Owner;
  /** Most connections at once. */
  readonly max?: number;
  /** Whether statements are sent without waiting for the answers to those before them. */
  readonly pipeline?: boolean;
  /** Reads an environment variable: paths of passwords, and the user if the address names none. */
  readonly env?: Env;
  /** Called with each password and key that is used. */
  readonly onSecret?: (secret: string) => void;
}

/** A connection that is taken out of the pool. Disposing of it closes it. */
export interface KeptConnection extends Disposable {
  /** Outside of a transaction. */
  readonly db: Session;
  /** Runs `work` in a transaction, once. */
  transaction<T>(work: (db: Session) => Promise<T>): Promise<T>;
  /** Begins a `COPY … FROM STDIN`, outside of a transaction. */
  copyIn(sql: string): Promise<CopyIn>;
  /** Runs a `COPY … TO STDOUT`: see {@linkcode copyOut}. */
  copyOut(sql: string, onMessage: (bytes: Uint8Array) => void): AsyncGenerator<void>;
}

/**
 * What svc promises does not depend on the defaults of a server, a database or a role. A commit is
 * on disk before it is answered. Each statement sees what was committed before it began, which
 * `facts` needs behind its locks. The wait for a lock has no limit of its own: a statement that
 * hangs ends after a minute. A transaction whose daemon fell silent in the middle of
 * it ends after seconds: until then the other daemons wait for its locks, with every call that
 * shares a batch with a call that needs one. Statements are short: compiling one (`jit`, half a
 * second) costs more than it saves.
 */
const SETTINGS = "SET search_path = svc; SET synchronous_commit = on; " +
  "SET default_transaction_isolation = 'read committed'; SET lock_timeout = 0; " +
  `SET timezone = 'UTC'; SET jit = off; SET statement_timeout = ${STATEMENT_MS}; ` +
  "SET idle_in_transaction_session_timeout = '5s'";

/** Sets the node and the run for which a connection claims (`ownership.ts`). */
const FOR_WHOM = "SELECT set_config('svc.node', $1, false), set_config('svc.run', $2, false)";

/** Longest time that a call waits for a connection. */
const CONNECT_MS = 5000;
/** Most tries of a transaction that a deadlock has ended. */
const TRIES = 5;

/** All connections of one daemon to its database. */
export class Connections implements AsyncDisposable {
  readonly owner: Owner;
  readonly address: DatabaseAddress;
  readonly #pool: InstanceType<typeof pg.Pool>;
  readonly #ready = new WeakSet<ClientBase>();
  #isClosed = false;

  /** @throws {AppError} `refused` when the address, or a file it names, cannot be used. */
  constructor(
    { url, owner, max = 8, pipeline = false, env = () => undefined, onSecret }: ConnectOptions,
  ) {
    this.owner = owner;
    this.address = toAddress(url, env);
    this.#pool = new pg.Pool({
      ...toDriverConfig(this.address, env, onSecret),
      max,
      pipeline,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: STATEMENT_MS + ANSWER_LATE_MS,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      application_name: "svc",
      types: { getTypeParser: parserOf },
    });
    this.#pool.on("error", () => {}); // of an idle connection: the next use makes a new one
  }

  /** Runs `work` outside of a transaction. */
  async use<T>(work: (db: Session) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    try {
      const result = await work(new ClientSession(client, this.owner));
      client.release();
      return result;
    } catch (error) {
      client.release(isBroken(error));
      throw fromPostgresError(error);
    }
  }

  /**
   * Runs `work` in one transaction, which is on disk before this resolves, and undone when `work`
   * throws. After a deadlock with another transaction, `work` runs again.
   */
  async transaction<T>(work: (db: Session) => Promise<T>): Promise<T> {
    for (let tried = 1;; tried++) {
      try {
        return await this.#once(work);
      } catch (error) {
        if (!isInTheWay(error) || tried === TRIES) throw fromPostgresError(error);
      }
    }
  }

  async #once<T>(work: (db: Session) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let isLost = false;
    try {
      return await inTransaction(client, this.owner, work);
    } catch (error) {
      isLost = isBroken(error) || !await client.query("ROLLBACK").then(() => true, () => false);
      throw error;
    } finally {
      client.release(isLost);
    }
  }

  /** Takes a connection out of the pool, for locks and settings that belong to one connection. */
  async keep(): Promise<KeptConnection> {
    const client = await this.#connect();
    let isClosed = false;
    return {
      db: new ClientSession(client, this.owner),
      transaction: (work) => inTransaction(client, this.owner, work),
      copyIn: (sql) => copyIn(client, sql),
      copyOut: (sql, onMessage) => copyOut(client, sql, onMessage),
      [Symbol.dispose]: () => {
        if (!isClosed) client.release(true);
        isClosed = true;
      },
    };
  }

  async #connect(): Promise<PoolClient> {
    if (this.#isClosed) throw new AppError("overloaded", "The store is closed");
    try {
      const client = await this.#pool.connect();
      if (!this.#ready.has(client)) await this.#prepare(client);
      return client;
    } catch (error) {
      throw fromPostgresError(error);
    }
  }

  async #prepare(client: PoolClient): Promise<void> {
    client.on("error", () => {}); // what runs on it fails, and what runs next
    try {
      await client.query(SETTINGS);
      await client.query(FOR_WHOM, [this.owner.node, this.owner.run]);
      this.#ready.add(client);
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** Waits for what runs, and closes every connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#pool.end();
  }
}

async function inTransaction<T>(
  client: ClientBase,
  owner: Owner,
  work: (db: Session) => Promise<T>,
): Promise<T> {
  const db = new ClientSession(client, owner);
  const begun = client.query("BEGIN");
  begun.catch(() => {}); // then the first statement fails, too
  const result = await work(db);
  await Promise.all([begun, db.sent, client.query("COMMIT")]);
  return result;
}

class ClientSession implements Session {
  readonly dialect = DIALECT;
  readonly owner: Owner;
  readonly processId: number;
  /** The statement that {@linkcode last} has sent. */
  sent: Promise<unknown> | undefined;
  readonly #client: ClientBase;
  /** How long an answer may take; absent where it is the time of all statements. */
  #answerMs: number | undefined;

  constructor(client: ClientBase, owner: Owner) {
    this.#client = client;
    this.owner = owner;
    this.processId = client.processID ?? 0;
  }

  async all(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    return (await this.#query(sql, values)).rows as Row[];
  }

  async get(sql: string, ...values: readonly Value[]): Promise<Row | undefined> {
    return (await this.all(sql, ...values))[0];
  }

  returning(sql: string, ...values: readonly Value[]): Promise<Row | undefined> {
    return this.get(sql, ...values);
  }

  async run(sql: string, ...values: readonly Value[]): Promise<number> {
    return (await this.#query(sql, values)).rowCount ?? 0;
  }

  async exec(sql: string): Promise<void> {
    await this.#client.query({ text: sql, query_timeout: this.#answerMs });
  }

  async slowly(): Promise<void> {
    await this.exec(`SET LOCAL statement_timeout = ${SLOW_MS}`);
    this.#answerMs = SLOW_MS + ANSWER_LATE_MS;
  }

  async prepared(sql: string, ...values: readonly Value[]): Promise<Row | undefined> {
    const named = { name: sql, text: numbered(sql), values: values.map(toParameter) };
    return (await this.#client.query(named)).rows[0] as Row | undefined;
  }

  last(sql: string, ...values: readonly Value[]): void {
    this.sent = this.prepared(sql, ...values);
  }

  native(sql: string, values?: readonly unknown[]): Promise<unknown> {
    return this.#client.query(sql, values);
  }

  async lock(...names: readonly string[]): Promise<void> {
    await this.all(
      `SELECT pg_advisory_xact_lock(key) FROM (SELECT DISTINCT hashtextextended(name, 0) AS key
         FROM unnest(?::text[]) AS name ORDER BY key) AS keys`,
      names,
    );
  }

  async tryLock(name: string): Promise<boolean> {
    const row = await this.get(
      "SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0)) AS taken",
      name,
    );
    return Boolean(row?.["taken"]);
  }

  #query(sql: string, values: readonly Value[]): Promise<QueryResult> {
    return this.#client.query({
      text: numbered(sql),
      values: values.map(toParameter),
      query_timeout: this.#answerMs,
    });
  }
}

/**
 * `pg` sends a Buffer as bytes, and another array of bytes as JSON. PostgreSQL has no NUL in a
 * text, nor in one that is looked for.
 */
function toParameter(value: Value): unknown {
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  if (typeof value === "string") return storable(value);
  if (!(value instanceof Array)) return value;
  return value.map((one) => typeof one === "string" ? storable(one) : one);
}

const INT8 = 20;
const BYTEA = 17;
const defaultParser = pg.types.getTypeParser;

/** Numbers and bytes as SQLite gives them. */
function parserOf(oid: number, format?: "text" | "binary"): (text: string) => unknown {
  if (oid === INT8) return Number;
  if (oid === BYTEA) return fromHex;
  return defaultParser(oid, format);
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.fromHex(text.slice(2));
}
