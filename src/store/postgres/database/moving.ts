/**
 * The mark of a database into which `svc db move` writes: until the move has ended, the database holds a
 * part only, and no one but the mover and the node that it makes may use it. The mark is a table of its
 * own, so that it stands before the schema does.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import { rfc3339 } from "../../../base/clock.ts";
import { number, text } from "../../sql/columns.ts";
import type { Session } from "./connections.ts";

/** A move that has not ended. */
export interface UnfinishedMove {
  /** Id of the node that it makes, which no data directory has before everything is verified. */
  readonly node: string;
  /** Name of that node. */
  readonly name: string;
  /** The file, with the name of its machine. */
  readonly source: string;
  /** In milliseconds since the epoch. */
  readonly startedAt: number;
}

/** Marks the database. */
export async function markMove(db: Session, move: UnfinishedMove): Promise<void> {
  await db.exec(`
    DO $$ BEGIN IF to_regnamespace('svc') IS NULL THEN CREATE SCHEMA svc; END IF; END $$;
    DROP TABLE IF EXISTS svc.moving;
    CREATE TABLE svc.moving (node text NOT NULL, name text NOT NULL, source text NOT NULL,
      started_at bigint NOT NULL)`);
  await db.run(
    "INSERT INTO svc.moving (node, name, source, started_at) VALUES (?, ?, ?, ?)",
    move.node,
    move.name,
    move.source,
    move.startedAt,
  );
}

/** Takes the mark off. */
export async function endMove(db: Session): Promise<void> {
  await db.exec("DROP TABLE IF EXISTS svc.moving");
}

/** Takes the mark off that made this node: `svc db move` was killed at its very end. */
export async function endOwnMove(db: Session): Promise<void> {
  if ((await findMove(db))?.node === db.owner.node) await endMove(db);
}

/** The move that has not ended; `undefined` when there is none. */
export async function findMove(db: Session): Promise<UnfinishedMove | undefined> {
  const there = await db.get("SELECT to_regclass('svc.moving') IS NOT NULL AS is_there");
  return there?.["is_there"] ? await readMove(db) : undefined;
}

/** Reads the mark. */
export async function readMove(db: Session): Promise<UnfinishedMove | undefined> {
  const row = await db.get("SELECT * FROM svc.moving");
  return row && {
    node: text(row, "node"),
    name: text(row, "name"),
    source: text(row, "source"),
    startedAt: number(row, "started_at"),
  };
}

/**
 * Refuses a database that is marked by another one.
 *
 * @throws {AppError} `refused`.
 */
export function refuseMove(move: UnfinishedMove | undefined, node: string): void {
  if (move === undefined || move.node === node) return;
  throw new AppError(
    "refused",
    `A move into this database has not ended, so it holds a part only: "svc db move" of ${move.source}, begun at ${
      rfc3339(move.startedAt)
    }. Run that again there with --again, or use another database`,
  );
}
