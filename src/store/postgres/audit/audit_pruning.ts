/**
 * Retention of the audit: the oldest rows of each chain go, and a checkpoint takes the place of their
 * links.
 *
 * @module
 */

import { rfc3339 } from "../../../base/clock.ts";
import { CHECKPOINT, chooseExpired, chooseRemovable } from "../../rules/audit_chain.ts";
import { toAuditLink } from "../../sql/audit.ts";
import { number, text } from "../../sql/columns.ts";
import type { Row } from "../../sql/row.ts";
import type { Session } from "../database/connections.ts";

/** Most rows of a chain that one call removes. */
const BATCH_SIZE = 500;

/** Removes the oldest rows, unless another daemon does it now; returns how many. */
export async function pruneAudit(db: Session, before: number, keep: number): Promise<number> {
  if (!await db.tryLock("retention/audit")) return 0;
  const oldest = await db.all(
    `SELECT rows.* FROM plugin_audit_heads AS heads CROSS JOIN LATERAL (
       SELECT id, chain, created_at, result FROM plugin_audit WHERE chain = heads.chain
       ORDER BY id LIMIT ?) AS rows
     ORDER BY id`,
    BATCH_SIZE,
  );
  const surplus = new Set(oldest.slice(0, Math.max(0, await countRows(db) - keep)));
  let removed = 0;
  for (const [chain, rows] of Map.groupBy(oldest, (row) => text(row, "chain"))) {
    const expired = chooseExpired(rows.map(toRetained), {
      before: rfc3339(before),
      surplus: rows.filter((row) => surplus.has(row)).length,
    });
    if (expired.length > 0) removed += await removeFirst(db, chain, expired);
  }
  return removed;
}

/** Number of rows, without reading them all: each has a link, and a second one when it is over. */
async function countRows(db: Session): Promise<number> {
  const row = await db.get(
    `SELECT (SELECT COALESCE(sum(heads.position - first.before), 0)::bigint
         FROM plugin_audit_heads AS heads CROSS JOIN LATERAL (
           SELECT CASE link WHEN ? THEN position ELSE position - 1 END AS before
           FROM plugin_audit_chain WHERE chain = heads.chain ORDER BY position LIMIT 1) AS first)
       + (SELECT count(*) FROM plugin_audit WHERE result = 'running') AS n`,
    CHECKPOINT,
  );
  return number(row ?? {}, "n") / 2;
}

/** Removes as many of the expired rows as its chain can do without; returns how many. */
async function removeFirst(
  db: Session,
  chain: string,
  expired: readonly string[],
): Promise<number> {
  const first = await db.all(
    "SELECT * FROM plugin_audit_chain WHERE chain = ? ORDER BY position LIMIT ?",
    chain,
    expired.length * 2 + 1,
  );
  const removable = chooseRemovable(expired, first.map(toAuditLink));
  if (removable === undefined) return 0;
  const { ids, last: { position, hash } } = removable;
  await db.run(
    "DELETE FROM plugin_audit_chain WHERE chain = ? AND position <= ?",
    chain,
    position,
  );
  await db.run("DELETE FROM plugin_audit WHERE id = ANY(?)", ids);
  await db.run(
    `INSERT INTO plugin_audit_chain (chain, position, audit_id, link, hash)
     VALUES (?, ?, '', ?, ?)`,
    chain,
    position,
    CHECKPOINT,
    hash,
  );
  return ids.length;
}

function toRetained(row: Row) {
  return {
    id: text(row, "id"),
    createdAt: text(row, "created_at"),
    result: text(row, "result"),
  };
}
