/**
 * The table `nodes`: the daemons that share the database, each with its lease.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import { number } from "../../sql/columns.ts";
import type { Session } from "../database/connections.ts";

/** A daemon, as it enters itself. */
export interface NodeEntry {
  /** For people. */
  readonly name: string;
  readonly leaseMs: number;
  /** When this run of it started, in milliseconds since the epoch. */
  readonly startedAt: number;
}

/**
 * Refuses a name that another node has.
 *
 * @throws {AppError} `refused`.
 */
export async function refuseTakenName(db: Session, name: string): Promise<void> {
  const other = await db.get("SELECT 1 FROM nodes WHERE name = ? AND id <> ?", name, db.owner.node);
  if (other === undefined) return;
  throw new AppError(
    "refused",
    `Another node of this database is named "${name}": make a data directory with another name ("svc init --node NAME"), or forget that node ("svc node forget ${name}") if it is gone`,
  );
}

/** A lease from now on. */
const LEASE = "now() + ?1 * interval '1 millisecond'";

/**
 * Enters the node of this run, in the place of a former run.
 *
 * @throws {AppError} `refused` when another node has its name.
 */
export async function enterNode(
  db: Session,
  { name, leaseMs, startedAt }: NodeEntry,
): Promise<void> {
  const { node, run } = db.owner;
  await db.lock("node");
  await refuseTakenName(db, name);
  await db.run(
    `INSERT INTO nodes (id, name, run, lease_until, judges_from, started_at)
     VALUES (?2, ?3, ?4, ${LEASE}, ${LEASE}, ?5)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, run = excluded.run,
       lease_until = excluded.lease_until, judges_from = excluded.judges_from,
       started_at = excluded.started_at`,
    leaseMs,
    node,
    name,
    run,
    startedAt,
  );
}

/**
 * Renews the lease of this run; gives the time of the database in milliseconds since the epoch, and
 * nothing when another run of the node has entered itself. After a gap it takes nothing of others
 * for the length of a lease: they may have had the same gap.
 */
export async function renewLease(
  db: Session,
  { name, leaseMs, startedAt, isNewConnection }: NodeEntry & { readonly isNewConnection: boolean },
): Promise<number | undefined> {
  const renewed = await db.get(
    `INSERT INTO nodes (id, name, run, lease_until, judges_from, started_at)
     VALUES (?2, ?3, ?4, ${LEASE}, ${LEASE}, ?5)
     ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until,
       judges_from = CASE WHEN ?6 OR nodes.lease_until < now() THEN excluded.judges_from
         ELSE nodes.judges_from END
     WHERE nodes.run = excluded.run
     RETURNING (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`,
    leaseMs,
    db.owner.node,
    name,
    db.owner.run,
    startedAt,
    isNewConnection,
  );
  return renewed && number(renewed, "now");
}

/** Ends the lease of this run: nothing of it is left that others would have to wait for. */
export async function endLease(db: Session): Promise<void> {
  const { node, run } = db.owner;
  await db.run("UPDATE nodes SET lease_until = now() WHERE id = ? AND run = ?", node, run);
}

/** Takes the lock of this node for as long as the session lasts; `false` when another has it. */
export async function lockNode(db: Session): Promise<boolean> {
  const row = await db.get(
    "SELECT pg_try_advisory_lock(hashtextextended('node/' || ?, 0))::int AS is_ours",
    db.owner.node,
  );
  return row?.["is_ours"] === 1;
}
