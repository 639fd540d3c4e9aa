/**
 * The nodes that share the database, as an operator sees, drains and forgets them.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import type { NodeFacts, NodeRecord } from "../../node_records.ts";
import { refusalToForget } from "../../rules/forget_node.ts";
import { number, text } from "../../sql/columns.ts";
import type { Session } from "../database/connections.ts";

/** Of a node that has said nothing of itself yet. */
const UNSAID: NodeFacts = { version: "", policy: "", faults: [] };

/** Every node, by name. */
export async function listNodes(db: Session): Promise<NodeRecord[]> {
  const rows = await db.all(
    `SELECT id, name, started_at, (lease_until > now())::int AS is_alive, is_drained, facts,
       floor(extract(epoch FROM lease_until)::float8 * 1000) AS lease_until,
       (SELECT count(*) FROM tasks WHERE state = 'running' AND node = nodes.id) AS running
     FROM nodes ORDER BY name`,
  );
  return rows.map((row) => ({
    id: text(row, "id"),
    name: text(row, "name"),
    isSelf: row["id"] === db.owner.node,
    isAlive: row["is_alive"] === 1,
    isDrained: row["is_drained"] === 1,
    running: number(row, "running"),
    startedAt: number(row, "started_at"),
    leaseUntil: number(row, "lease_until"),
    facts: { ...UNSAID, ...JSON.parse(text(row, "facts")) as Partial<NodeFacts> },
  }));
}

/**
 * Forgets a node, and makes what it ran claimable.
 *
 * @throws {AppError} `conflict` for the node that asks, `not_found` when there is none.
 */
export async function forgetNode(db: Session, id: string): Promise<void> {
  const { node: self } = db.owner;
  const isKnown = id !== self && await db.run("DELETE FROM nodes WHERE id = ?", id) > 0;
  const refusal = refusalToForget(id, { self, isKnown });
  if (refusal !== undefined) throw new AppError(refusal.code, refusal.message);
  await db.get(
    "SELECT jobs_put_back(ARRAY(SELECT id FROM tasks WHERE state = 'running' AND node = ?))",
    id,
  );
  await db.get("SELECT jobs_move(?)", id);
  await db.run("DELETE FROM files_to_remove WHERE node = ?", id); // it removes none any more
}

/**
 * Has a node take no new tasks, or take them again.
 *
 * @throws {AppError} `not_found`.
 */
export async function drainNode(db: Session, id: string, isDrained: boolean): Promise<void> {
  const found = await db.run("UPDATE nodes SET is_drained = ? WHERE id = ?", Number(isDrained), id);
  if (found === 0) throw new AppError("not_found", `No node "${id}"`);
}

/** Stores the report of this node; returns whether it differs from the last one. */
export async function reportNode(db: Session, facts: NodeFacts): Promise<boolean> {
  const { node, run } = db.owner;
  const changed = await db.run(
    "UPDATE nodes SET facts = ?1 WHERE id = ?2 AND run = ?3 AND facts <> ?1",
    JSON.stringify(facts),
    node,
    run,
  );
  return changed > 0;
}
