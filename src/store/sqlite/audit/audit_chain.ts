/**
 * The chain over `plugin_audit`: a link when a row is started and one when it is finished, each with
 * the hash of the row's content and of the link before. What is changed or removed later, breaks it.
 * Whoever can write the whole file can also write a new chain: compare the head with a copy elsewhere.
 *
 * @module
 */

import { sha256Hex } from "../../../base/bytes.ts";
import { rfc3339 } from "../../../base/clock.ts";
import type { AuditVerdict } from "../../audit_records.ts";
import { number, text } from "../engine/columns.ts";
import type { Database, Row } from "../engine/database.ts";

/** Columns that each link covers. */
const COVERED = {
  start: [
    "id",
    "created_at",
    "action",
    "crd_kind",
    "plugin_name",
    "command",
    "plugin_type",
    "phase",
    "trigger",
    "delivery_id",
    "role",
    "policy_mode",
  ],
  finish: ["id", "finished_at", "result", "exit_code", "duration_ms", "stderr"],
} as const;

type Link = keyof typeof COVERED;

/** What stands in place of links that retention has removed. */
const CHECKPOINT = "checkpoint";

/** Adds a link over the row as it is now. */
export function addLink(db: Database, auditId: string, link: Link): void {
  const last = db.get("SELECT hash FROM plugin_audit_chain ORDER BY position DESC LIMIT 1");
  const row = db.get("SELECT * FROM plugin_audit WHERE id = ?", auditId) ?? {};
  db.run(
    "INSERT INTO plugin_audit_chain (audit_id, link, hash) VALUES (?, ?, ?)",
    auditId,
    link,
    hashOf(last === undefined ? "" : text(last, "hash"), link, row),
  );
}

/** Walks the chain from its beginning or its checkpoint. */
export function verifyAudit(db: Database): AuditVerdict {
  const faults: string[] = [];
  let before: { hash: string; position: number } | undefined;
  const finished = new Set<string>();
  const started = new Set<string>();
  for (const row of db.all("SELECT * FROM plugin_audit_chain ORDER BY position")) {
    const [id, link] = [text(row, "audit_id"), text(row, "link")];
    const [hash, position] = [text(row, "hash"), number(row, "position")];
    if (before === undefined && position !== 1 && link !== CHECKPOINT) {
      faults.push(`The first links are gone, the chain begins at ${position}`);
    } else if (before !== undefined && position !== before.position + 1) {
      faults.push(`Links ${before.position + 1} to ${position - 1} are gone`);
    }
    if (link === "start" || link === "finish") {
      (link === "start" ? started : finished).add(id);
      const covered = db.get("SELECT * FROM plugin_audit WHERE id = ?", id);
      if (covered === undefined) faults.push(`Row ${id} was removed`);
      else if (hashOf(before?.hash ?? "", link, covered) !== hash) {
        faults.push(`Row ${id} was changed (${link})`);
      }
    }
    before = { hash, position };
  }
  const written = number(
    db.get(
      "SELECT COALESCE(max(seq), 0) AS n FROM sqlite_sequence WHERE name = 'plugin_audit_chain'",
    ) ??
      { n: 0 },
    "n",
  );
  if (written !== (before?.position ?? 0)) {
    faults.push(`The last links are gone, there were ${written}`);
  }
  const rows = db.all("SELECT id, result FROM plugin_audit");
  for (const row of rows) {
    const id = text(row, "id");
    if (!started.has(id)) faults.push(`Row ${id} was added from outside`);
    if (text(row, "result") !== "running" && !finished.has(id)) {
      faults.push(`Row ${id} was finished from outside`);
    }
  }
  return { rows: rows.length, faults };
}

/** Most rows removed at once, so that nobody waits for it. */
const PRUNED_AT_ONCE = 500;

/** Removes the oldest rows and leaves a checkpoint in place of their links. */
export function pruneAudit(db: Database, before: number, keep: number): number {
  const over = countRows(db) - keep;
  const old = db.all(
    "SELECT id, created_at, result FROM plugin_audit ORDER BY id LIMIT ?",
    PRUNED_AT_ONCE,
  );
  const limit = rfc3339(before);
  const kept = old.findIndex((row, index) =>
    text(row, "result") === "running" || (index >= over && text(row, "created_at") >= limit)
  );
  const gone = (kept === -1 ? old : old.slice(0, kept)).map((row) => text(row, "id"));
  const removable = wholeLinks(db, gone);
  if (removable.ids.length === 0 || removable.last === undefined) return 0;
  const { position, hash } = removable.last;
  db.run("DELETE FROM plugin_audit_chain WHERE position <= ?", position);
  for (const id of removable.ids) db.run("DELETE FROM plugin_audit WHERE id = ?", id);
  db.run(
    "INSERT INTO plugin_audit_chain (position, audit_id, link, hash) VALUES (?, '', ?, ?)",
    position,
    CHECKPOINT,
    hash,
  );
  return removable.ids.length;
}

/** How many rows there are, without looking at them: they come at one end and go at the other. */
function countRows(db: Database): number {
  const row = db.get(
    `SELECT COALESCE((SELECT max(rowid) FROM plugin_audit)
       - (SELECT min(rowid) FROM plugin_audit) + 1, 0) AS n`,
  );
  return number(row ?? {}, "n");
}

/** The longest beginning of the chain that belongs to rows of `gone` alone and to all of each. */
function wholeLinks(
  db: Database,
  gone: readonly string[],
): { ids: string[]; last?: { position: number; hash: string } } {
  const going = new Set(gone);
  const open = new Set<string>();
  const closed: string[] = [];
  let best: { ids: string[]; last?: { position: number; hash: string } } = { ids: [] };
  for (
    const row of db.all(
      "SELECT * FROM plugin_audit_chain ORDER BY position LIMIT ?",
      gone.length * 2 + 1,
    )
  ) {
    const [id, link] = [text(row, "audit_id"), text(row, "link")];
    if (link === CHECKPOINT) continue;
    if (!going.has(id)) break;
    if (link === "start") open.add(id);
    else if (open.delete(id)) closed.push(id);
    if (open.size === 0) {
      best = {
        ids: [...closed],
        last: { position: number(row, "position"), hash: text(row, "hash") },
      };
    }
  }
  return best;
}

function hashOf(before: string, link: Link, row: Row): string {
  return sha256Hex(
    JSON.stringify([before, link, ...COVERED[link].map((column) => row[column] ?? null)]),
  );
}
