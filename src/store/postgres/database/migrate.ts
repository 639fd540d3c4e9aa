/**
 * Brings the schema of a database up to this program's.
 *
 * @module
 */

import { sha256Hex } from "../../../base/bytes.ts";
import { AppError } from "../../../base/errors.ts";
import { number, text } from "../../sql/columns.ts";
import { FACTS } from "../functions/facts.ts";
import { JOB_FUNCTIONS } from "../functions/job_functions.ts";
import { WRITE } from "../functions/write.ts";
import type { Connections, Session } from "./connections.ts";
import { readMove, refuseMove } from "./moving.ts";
import { ABOUT, migrationsAfter, SCHEMA_VERSION } from "./migrations.ts";

/**
 * Statements that create or replace the functions of the database. Functions only read facts and
 * carry out actions; every decision is made by `store/rules/`.
 */
const FUNCTIONS = `${FACTS}${WRITE}${JOB_FUNCTIONS}`;

/** A hash that differs when a program of another version has written the functions. */
const FUNCTIONS_ID = sha256Hex(FUNCTIONS).slice(0, 16);

/** The row of `svc.about`, which describes the state of the database. */
export interface About {
  /** Number of migrations it has been through; 0 when it is empty. */
  readonly version: number;
  readonly functions: string;
  /** Id of the key with which secrets in it are sealed; empty when it has none yet. */
  readonly key: string;
}

/**
 * Makes the schema `svc`, or migrates it; one daemon at a time, and none while another one runs
 * that knows it as it is. One that is up to date is only read.
 *
 * `keyId` is the id of the key of this daemon, which has to be that of all others.
 *
 * @returns Whether the user of these connections owns the schema; others may only use it.
 * @throws {AppError} `refused` when a newer version has written it, it has another key, an older
 * version runs on it, or its owner has to migrate it.
 */
export async function migrate(
  connections: Connections,
  { keyId = "", onNote = () => {} }: {
    readonly keyId?: string;
    /** Called when a migration begins, with a sentence without a full stop. */
    readonly onNote?: ((text: string) => void) | undefined;
  } = {},
): Promise<boolean> {
  const known = await connections.use(readAbout);
  const isOwner = await connections.use(ownsSchema);
  if (isUpToDate(known) && isKeyKnown(known, keyId)) return isOwner;
  if (!isOwner) throw notTheOwner(connections.address.user);
  await connections.transaction(async (db) => {
    await db.lock("schema");
    await db.exec(ABOUT);
    const about = await readAbout(db);
    isKeyKnown(about, keyId);
    if (!isUpToDate(about)) {
      if (about.version > 0) {
        await refuseWhileOthersRun(db);
        await db.slowly(); // a migration may make an index of all tasks
      }
      if (about.version > 0 && about.version < SCHEMA_VERSION) {
        onNote(`the database is migrated from schema ${about.version} to ${SCHEMA_VERSION}`);
      }
      for (const { sql } of migrationsAfter(about.version)) await db.exec(sql);
      await db.exec(FUNCTIONS);
    }
    await db.exec("DELETE FROM svc.about");
    await db.run(
      "INSERT INTO svc.about (version, functions, key_id) VALUES (?, ?, ?)",
      SCHEMA_VERSION,
      FUNCTIONS_ID,
      about.key || keyId,
    );
  });
  return isOwner;
}

/** The refusal of a schema that only its owner can migrate. */
export function notTheOwner(user: string): AppError {
  return new AppError(
    "refused",
    `The schema of the database is that of another version of svc, and user "${user}" does not own it: run this version's "svc init" once with the address of its owner in SVC_DATABASE_URL`,
  );
}

/** Whether the schema belongs to the user of the connection, or does not exist yet. */
async function ownsSchema(db: Session): Promise<boolean> {
  const row = await db.get(
    `SELECT bool_and(pg_has_role(tableowner, 'USAGE'))::int AS is_owner FROM pg_tables
     WHERE schemaname = 'svc' AND tablename = 'about'`,
  );
  return row?.["is_owner"] !== 0;
}

/**
 * Reads the row of `svc.about`; an empty database counts as version 0.
 *
 * @throws {AppError} `refused` while a move into it has not ended.
 */
export async function readAbout(db: Session): Promise<About> {
  const there = await db.get(
    "SELECT to_regclass('svc.about') IS NOT NULL AS is_there, to_regclass('svc.moving') IS NOT NULL AS is_moving",
  );
  if (there?.["is_moving"]) refuseMove(await readMove(db), db.owner.node);
  const row = there?.["is_there"] ? await db.get("SELECT * FROM svc.about") : undefined;
  if (row === undefined) return { version: 0, functions: "", key: "" };
  return {
    version: Number(row["version"]),
    functions: text(row, "functions"),
    key: text(row, "key_id"),
  };
}

function isUpToDate({ version, functions }: About): boolean {
  if (version > SCHEMA_VERSION) {
    throw new AppError(
      "refused",
      `The database was written by a newer svc (schema ${version}, this one knows ${SCHEMA_VERSION}): install that version`,
    );
  }
  return version === SCHEMA_VERSION && functions === FUNCTIONS_ID;
}

/**
 * Refuses to go on with a key that another one has replaced.
 *
 * @throws {AppError} `refused`.
 */
export async function refuseOtherKey(db: Session, keyId = ""): Promise<void> {
  isKeyKnown(await readAbout(db), keyId);
}

/** Names another key as that of the database. */
export async function changeKeyId(db: Session, keyId: string): Promise<void> {
  await db.run("UPDATE svc.about SET key_id = ?", keyId);
}

/** Whether the database has the key of this daemon; `false` where it has none yet. */
function isKeyKnown({ key }: About, keyId: string): boolean {
  if (key !== "" && keyId !== "" && key !== keyId) {
    throw new AppError(
      "refused",
      `The secrets of the database are sealed with key ${key}, and "secretstore.key" of this data directory is ${keyId}: copy that file of a daemon that shares the database to this machine and run "svc init --key-file FILE"`,
    );
  }
  return key !== "" || keyId === "";
}

/** Of two versions, one would not know the rows and functions of the other. */
async function refuseWhileOthersRun(db: Session): Promise<void> {
  const rows = await db.all(
    `SELECT name, ceil(extract(epoch FROM lease_until - now()))::float8 AS seconds FROM nodes
     WHERE id <> ? AND lease_until > now() ORDER BY name`,
    db.owner.node,
  );
  if (rows.length === 0) return;
  const names = rows.map((row) => `"${text(row, "name")}"`).join(", ");
  const seconds = Math.max(...rows.map((row) => number(row, "seconds")));
  throw new AppError(
    "refused",
    `Another version of svc has a lease on the database, as node ${names}: stop it, and start this one when that is over, in ${seconds} s`,
  );
}
