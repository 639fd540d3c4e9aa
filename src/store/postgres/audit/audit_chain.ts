/**
 * The tables `plugin_audit_chain` and `plugin_audit_heads`: a chain for each node, so that no
 * daemon waits for another. What a link covers and which rows may be removed is decided in
 * `rules/audit_chain.ts`.
 *
 * @module
 */

import type { AuditVerdict } from "../../audit_records.ts";
import { ChainCheck, linkHash, type LinkKind } from "../../rules/audit_chain.ts";
import { toAuditLink } from "../../sql/audit.ts";
import { number, text } from "../../sql/columns.ts";
import type { Row } from "../../sql/row.ts";
import type { Session } from "../database/connections.ts";
import { inSnapshot } from "../database/snapshot.ts";

/** A part of a row that a link is to cover, as the row is stored now. */
export interface RowPart {
  readonly row: Row;
  readonly link: LinkKind;
}

/**
 * Adds links at the end of a chain. Other transactions that add to it wait until this one commits.
 */
export async function addLinks(
  db: Session,
  chain: string,
  covered: readonly RowPart[],
): Promise<void> {
  const head = await db.get(
    `INSERT INTO plugin_audit_heads (chain, position, hash) VALUES (?, 0, '')
     ON CONFLICT (chain) DO UPDATE SET position = plugin_audit_heads.position
     RETURNING position, hash`,
    chain,
  ) ?? {};
  let position = number(head, "position");
  let hash = text(head, "hash");
  const links = covered.map(({ row, link }) => {
    position++;
    hash = linkHash(hash, link, row);
    return { position, audit_id: text(row, "id"), link, hash };
  });
  await db.run(
    `WITH added AS (
       INSERT INTO plugin_audit_chain (chain, position, audit_id, link, hash)
         SELECT ?1, position, audit_id, link, hash FROM json_to_recordset(?2::json)
           AS links (position bigint, audit_id text, link text, hash text))
     UPDATE plugin_audit_heads SET position = ?3, hash = ?4 WHERE chain = ?1`,
    chain,
    JSON.stringify(links),
    position,
    hash,
  );
}

/** Links that are read at a time. */
const PAGE_SIZE = 1000;

/** Verifies each chain from its beginning or its checkpoint. */
export async function verifyAudit(db: Session): Promise<AuditVerdict> {
  return await inSnapshot(db, async () => {
    const chains = await db.all(
      `SELECT chain, COALESCE(nodes.name, chain) AS name, COALESCE(heads.position, 0) AS position,
         COALESCE(heads.hash, '') AS hash
       FROM (SELECT chain FROM plugin_audit_heads UNION SELECT chain FROM plugin_audit_chain
         UNION SELECT chain FROM plugin_audit) AS chains
       LEFT JOIN plugin_audit_heads AS heads USING (chain) LEFT JOIN nodes ON nodes.id = chain
       ORDER BY chain`,
    );
    let rows = 0;
    const faults: string[] = [];
    for (const chain of chains) {
      const verdict = await verifyChain(db, chain);
      rows += verdict.rows;
      const where = chains.length === 1 ? "" : `, in the chain of node ${text(chain, "name")}`;
      faults.push(...verdict.faults.map((fault) => `${fault}${where}`));
    }
    return { rows, faults };
  });
}

async function verifyChain(db: Session, head: Row): Promise<AuditVerdict> {
  const chain = text(head, "chain");
  const check = new ChainCheck();
  for (let at = 0;;) {
    const page = await db.all(
      `SELECT links.position, links.audit_id, links.link, links.hash, plugin_audit.*
       FROM plugin_audit_chain AS links LEFT JOIN plugin_audit ON plugin_audit.id = links.audit_id
       WHERE links.chain = ? AND links.position > ? ORDER BY links.position LIMIT ?`,
      chain,
      at,
      PAGE_SIZE,
    );
    for (const row of page) check.add(toAuditLink(row), row["id"] === null ? undefined : row);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_SIZE) break;
    at = number(last, "position");
  }
  const rows = (await db.all("SELECT id, result FROM plugin_audit WHERE chain = ?", chain))
    .map((row) => ({ id: text(row, "id"), result: text(row, "result") }));
  const end = { rows, lastPosition: number(head, "position"), lastHash: text(head, "hash") };
  return { rows: rows.length, faults: check.end(end) };
}
