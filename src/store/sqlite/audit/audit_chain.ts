/**
 * The table `plugin_audit_chain`: adds, reads and removes links. What a link covers and which rows
 * may be removed is decided in `rules/audit_chain.ts`.
 *
 * @module
 */

import { rfc3339 } from "../../../base/clock.ts";
import type { AuditVerdict } from "../../audit_records.ts";
import {
  ChainCheck,
  CHECKPOINT,
  chooseExpired,
  chooseRemovable,
  linkHash,
  type LinkKind,
} from "../../rules/audit_chain.ts";
import { toAuditLink } from "../../sql/audit.ts";
import { number, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row } from "../../sql/row.ts";

/** Adds a link over the row in its present state. */
export function addLink(db: Database, auditId: string, link: LinkKind): void {
  const last = db.get("SELECT hash FROM plugin_audit_chain ORDER BY position DESC LIMIT 1");
  const row = findRow(db, auditId) ?? {};
  db.run(
    "INSERT INTO plugin_audit_chain (audit_id, link, hash) VALUES (?, ?, ?)",
    auditId,
    link,
    linkHash(last === undefined ? "" : text(last, "hash"), link, row),
  );
}

/** Verifies the chain from its beginning or its checkpoint. */
export function verifyAudit(db: Database): AuditVerdict {
  const written = db.get(
    "SELECT COALESCE(max(seq), 0) AS n FROM sqlite_sequence WHERE name = 'plugin_audit_chain'",
  );
  const rows = db.all("SELECT id, result FROM plugin_audit")
    .map((row) => ({ id: text(row, "id"), result: text(row, "result") }));
  const check = new ChainCheck();
  for (const row of db.all("SELECT * FROM plugin_audit_chain ORDER BY position")) {
    const link = toAuditLink(row);
    check.add(link, findRow(db, link.auditId));
  }
  return {
    rows: rows.length,
    faults: check.end({ rows, lastPosition: number(written ?? { n: 0 }, "n") }),
  };
}

/** Most rows that one call removes, because other calls wait for it. */
const BATCH_SIZE = 500;

/** Removes the oldest rows and leaves a checkpoint in place of their links. */
export function pruneAudit(db: Database, before: number, keep: number): number {
  const oldest = db.all(
    "SELECT id, created_at, result FROM plugin_audit ORDER BY id LIMIT ?",
    BATCH_SIZE,
  ).map((row) => ({
    id: text(row, "id"),
    createdAt: text(row, "created_at"),
    result: text(row, "result"),
  }));
  const surplus = countRows(db) - keep;
  const expired = chooseExpired(oldest, { before: rfc3339(before), surplus });
  const first = db.all(
    "SELECT * FROM plugin_audit_chain ORDER BY position LIMIT ?",
    expired.length * 2 + 1,
  );
  const removable = chooseRemovable(expired, first.map(toAuditLink));
  if (removable === undefined) return 0;
  const { ids, last: { position, hash } } = removable;
  db.run("DELETE FROM plugin_audit_chain WHERE position <= ?", position);
  for (const id of ids) db.run("DELETE FROM plugin_audit WHERE id = ?", id);
  db.run(
    "INSERT INTO plugin_audit_chain (position, audit_id, link, hash) VALUES (?, '', ?, ?)",
    position,
    CHECKPOINT,
    hash,
  );
  return ids.length;
}

/** Number of rows, without reading them all: rows are added at one end and removed at the other. */
function countRows(db: Database): number {
  const row = db.get(
    `SELECT COALESCE((SELECT max(rowid) FROM plugin_audit)
       - (SELECT min(rowid) FROM plugin_audit) + 1, 0) AS n`,
  );
  return number(row ?? {}, "n");
}

function findRow(db: Database, id: string): Row | undefined {
  return db.get("SELECT * FROM plugin_audit WHERE id = ?", id);
}
