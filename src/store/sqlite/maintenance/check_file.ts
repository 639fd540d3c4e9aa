/**
 * Checks every page and every table of a database, and finds impossible rows, for `svc db check`.
 * It only reads. It takes long for a large file, so it runs in the thread of `job_worker.ts`.
 *
 * @module
 */

import { AppError, messageOf } from "../../../base/errors.ts";
import type { CheckFacts } from "../../maintenance.ts";
import { verifyAudit } from "../audit/audit_chain.ts";
import { sizeOf } from "./back_up.ts";
import { findUnreadable } from "./check_rows.ts";
import { findSchemaFaults, NOT_OURS } from "../engine/check_schema.ts";
import { number, text } from "../../sql/columns.ts";
import { IMPOSSIBLE_ROWS, listed, MAX_LISTED } from "../../sql/impossible_rows.ts";
import { Database, fromSqliteError, toRead } from "../engine/database.ts";
import { isOpenable, SCHEMA_VERSION, versionOf } from "../engine/migrations.ts";
import { loadResources } from "../resources/resource_rows.ts";

/** Tables that every version has. */
const TABLES = ["resources", "deliveries", "tasks", "steps", "plans", "plugin_audit"];

const NOTHING: CheckFacts = {
  bytes: 0,
  schemaVersion: 0,
  faults: [],
  pending: 0,
  running: 0,
  secretStores: [],
};

/**
 * Checks the file at `path`; a file that cannot be opened is reported as a fault too. `alone` says
 * that nobody uses it meanwhile: then no file is made beside one that has none.
 */
export function checkFile(path: string, alone: boolean): CheckFacts {
  if (!isOpenable(path)) return { ...NOTHING, faults: ["It is not a file"] };
  try {
    using db = new Database(path, alone ? toRead(path) : { readOnly: true });
    db.exec("BEGIN"); // one read transaction: all of it as it is at one moment
    return inspect(db);
  } catch (error) {
    if (!(fromSqliteError(error) instanceof AppError)) throw error;
    return { ...NOTHING, faults: [`It cannot be read: ${messageOf(error)}`] };
  }
}

function inspect(db: Database): CheckFacts {
  const schemaVersion = versionOf(db);
  const facts = { ...NOTHING, schemaVersion, bytes: sizeOf(db) };
  const names = db.all("SELECT CAST(name AS TEXT) AS name FROM sqlite_schema").map((row) =>
    text(row, "name")
  );
  if (schemaVersion < 1 || TABLES.some((table) => !names.includes(table))) {
    return { ...facts, faults: [NOT_OURS] };
  }
  const unusable = findSchemaFaults(db);
  if (unusable.length > 0) return { ...facts, faults: unusable };
  const damage = db.all(`PRAGMA integrity_check(${MAX_LISTED})`)
    .map((row) => text(row, "integrity_check")).filter((line) => line !== "ok");
  if (damage.length > 0) return { ...facts, faults: damage.map((line) => `Damaged: ${line}`) };
  const unreadable = findUnreadable(db, MAX_LISTED);
  if (unreadable.length > 0) return { ...facts, faults: unreadable };
  const known = { ...facts, ...countTasks(db), secretStores: findSecretStores(db) };
  if (schemaVersion < SCHEMA_VERSION) return known; // the next start migrates it
  const impossible = IMPOSSIBLE_ROWS.flatMap(({ sql, show }) =>
    listed(db.all(`${sql} LIMIT ${MAX_LISTED + 1}`), show)
  );
  const audit = verifyAudit(db).faults.map((fault) => `Audit: ${fault}`);
  return { ...known, faults: [...impossible, ...audit.slice(0, MAX_LISTED)] };
}

function findSecretStores(db: Database): CheckFacts["secretStores"] {
  return loadResources(db).filter(({ kind }) => kind === "SecretStore");
}

function countTasks(db: Database): Pick<CheckFacts, "pending" | "running"> {
  const count = (state: string) =>
    number(db.get("SELECT count(*) AS n FROM tasks WHERE state = ?", state) ?? { n: 0 }, "n");
  return { pending: count("pending"), running: count("running") };
}
