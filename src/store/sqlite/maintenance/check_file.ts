/**
 * Checks every page and every table of a database, and finds impossible rows, for `svc db check`.
 * It only reads. It takes long for a large file, so it runs in the thread of `job_worker.ts`.
 *
 * @module
 */

import { AppError, messageOf } from "../../../base/errors.ts";
import type { CheckFacts, Glance } from "../../maintenance.ts";
import { verifyAudit } from "../audit/audit_chain.ts";
import { sizeOf } from "./back_up.ts";
import { findUnreadable } from "./check_rows.ts";
import { findSchemaFaults, NOT_OURS } from "../engine/check_schema.ts";
import { number, text } from "../../sql/columns.ts";
import { IMPOSSIBLE_ROWS, listed, MAX_LISTED } from "../../sql/impossible_rows.ts";
import { UNFINISHED } from "../../sql/readiness.ts";
import { Database, fromSqliteError, toRead } from "../engine/database.ts";
import { isOpenable } from "../engine/check_version.ts";
import { SCHEMA_VERSION, versionOf } from "../engine/migrations.ts";
import { loadResources } from "../resources/resource_rows.ts";

/** Tables that every version has. */
const TABLES = ["resources", "deliveries", "tasks", "steps", "plans", "plugin_audit"];

const NOTHING: CheckFacts = {
  bytes: 0,
  schemaVersion: 0,
  faults: [],
  openTasks: 0,
  running: 0,
  secretStores: [],
};

/**
 * Checks the file at `path`; a file that cannot be opened is reported as a fault too. `alone` says
 * that no other process uses it: then no file is left beside it.
 */
export function checkFile(path: string, alone: boolean): CheckFacts {
  return inFile(path, { alone, nothing: NOTHING, look: inspect });
}

/** A quicker check: SQLite's own check of the pages, without their indexes, and of no rows. */
export function glanceAtFile(path: string, alone: boolean): Glance {
  const nothing = { bytes: 0, schemaVersion: 0, faults: [], warnings: [], resources: [] };
  return inFile<Glance>(path, {
    alone,
    nothing,
    look(db) {
      const facts = { ...nothing, schemaVersion: versionOf(db), bytes: sizeOf(db) };
      if (facts.schemaVersion > SCHEMA_VERSION) return facts; // nothing of it is known here
      const faults = findDamage(db, "quick_check");
      if (faults.length > 0) return { ...facts, faults };
      const newest = db.get(
        `SELECT max(at) AS at FROM (
           SELECT (SELECT created_at FROM tasks ORDER BY id DESC LIMIT 1) AS at
           UNION ALL SELECT (SELECT received_at FROM deliveries ORDER BY id DESC LIMIT 1))`,
      )?.["at"];
      const resources = loadResources(db);
      return { ...facts, resources, ...(newest === null ? {} : { newestAt: Number(newest) }) };
    },
  });
}

function inFile<Facts extends { readonly faults: readonly string[] }>(
  path: string,
  { alone, nothing, look }: {
    readonly alone: boolean;
    readonly nothing: Facts;
    readonly look: (db: Database) => Facts;
  },
): Facts {
  if (!isOpenable(path)) return { ...nothing, faults: ["It is not a file"] };
  try {
    using db = new Database(path, alone ? toRead(path) : { readOnly: true });
    db.exec("BEGIN"); // one read transaction: all of it as it is at one moment
    return look(db);
  } catch (error) {
    if (!(fromSqliteError(error) instanceof AppError)) throw error;
    return { ...nothing, faults: [`It cannot be read: ${messageOf(error)}`] };
  }
}

/** What is wrong with the schema, and if nothing is, with the pages. */
function findDamage(db: Database, check: "integrity_check" | "quick_check"): string[] {
  const names = db.all("SELECT CAST(name AS TEXT) AS name FROM sqlite_schema").map((row) =>
    text(row, "name")
  );
  if (versionOf(db) < 1 || TABLES.some((table) => !names.includes(table))) return [NOT_OURS];
  const unusable = findSchemaFaults(db);
  if (unusable.length > 0) return [...unusable];
  return db.all(`PRAGMA ${check}(${MAX_LISTED})`)
    .map((row) => text(row, check)).filter((line) => line !== "ok")
    .map((line) => `Damaged: ${line}`);
}

function inspect(db: Database): CheckFacts {
  const schemaVersion = versionOf(db);
  const facts = { ...NOTHING, schemaVersion, bytes: sizeOf(db) };
  const damage = findDamage(db, "integrity_check");
  if (damage.length > 0) return { ...facts, faults: damage };
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

function countTasks(db: Database): Pick<CheckFacts, "openTasks" | "running"> {
  const count = (condition: string) =>
    number(db.get(`SELECT count(*) AS n FROM tasks WHERE ${condition}`) ?? { n: 0 }, "n");
  return { openTasks: count(UNFINISHED), running: count("state = 'running'") };
}
