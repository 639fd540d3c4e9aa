/**
 * The nodes of a data directory: one, because only one daemon at a time has its lock.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import type { NodeFacts, NodeRecord } from "../node_records.ts";
import { refusalToForget } from "../rules/forget_node.ts";
import { number } from "../sql/columns.ts";
import type { Database } from "./engine/database.ts";

/** The daemon that asks. */
export function listNodes(db: Database): NodeRecord[] {
  const { node: id } = db;
  const row = db.get(
    "SELECT count(*) AS n FROM tasks INDEXED BY tasks_running WHERE state = 'running'",
  );
  return [{
    id,
    name: id,
    isSelf: true,
    isAlive: true,
    isDrained: false,
    running: number(row ?? {}, "n"),
    facts: { version: VERSION, policy: "", faults: [] },
  }];
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

/**
 * Drains none: no other node would run the tasks that this one does not take.
 *
 * @throws {AppError} `refused`.
 */
export function drainNode(_db: Database, _id: string, _isDrained: boolean): void {
  throw new AppError(
    "refused",
    "This daemon does not share its database, so no other node would run its tasks: use " +
      "svc pause, which holds back the tasks of all nodes",
  );
}

/** Stores nothing: no other daemon reads it. */
export function reportNode(_db: Database, _facts: NodeFacts): boolean {
  return false;
}
