/**
 * Brings the schema of a database up to this program's.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import { FUNCTIONS } from "../functions/functions.ts";
import type { Connections, Session } from "./connections.ts";
import { migrationsAfter, SCHEMA_VERSION } from "./migrations.ts";

/**
 * Makes the schema `svc`, or migrates it; one daemon at a time.
 *
 * @throws {AppError} `refused` when a newer version has written it.
 */
export async function migrate(connections: Connections): Promise<void> {
  await connections.transaction(async (db) => {
    await db.lock("schema");
    await db.exec(
      `CREATE SCHEMA IF NOT EXISTS svc;
       CREATE TABLE IF NOT EXISTS svc.about (version bigint NOT NULL);`,
    );
    const version = await versionOf(db);
    if (version > SCHEMA_VERSION) {
      throw new AppError(
        "refused",
        `The database was written by a newer svc (schema ${version}, this one knows ${SCHEMA_VERSION}): install that version`,
      );
    }
    for (const { to, sql } of migrationsAfter(version)) {
      await db.exec(sql);
      await db.exec(`DELETE FROM svc.about; INSERT INTO svc.about VALUES (${to})`);
    }
    await db.exec(FUNCTIONS);
  });
}

/** Number of migrations the database has been through; 0 when it is empty. */
async function versionOf(db: Session): Promise<number> {
  const row = await db.get("SELECT version FROM svc.about");
  return Number(row?.["version"] ?? 0);
}
