/**
 * The nodes of a data directory: one, because only one daemon at a time has its lock.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { NodeRecord } from "../node_records.ts";
import { refusalToForget } from "../rules/forget_node.ts";
import { number } from "../sql/columns.ts";
import type { Database } from "./engine/database.ts";

/** The daemon that asks. */
export function listNodes(db: Database): NodeRecord[] {
  const { node: id } = db;
  const row = db.get(
    "SELECT count(*) AS n FROM tasks INDEXED BY tasks_running WHERE state = 'running'",
  );
  return [{ id, name: id, isSelf: true, isAlive: true, running: number(row ?? {}, "n") }];
}

/**
 * Forgets none: there is no other.
 *
 * @throws {AppError} `conflict` for the daemon that asks, `not_found` for any other.
 */
export function forgetNode({ node: self }: Database, id: string): void {
  const refusal = refusalToForget(id, { self, isKnown: false });
  if (refusal !== undefined) throw new AppError(refusal.code, refusal.message);
}
