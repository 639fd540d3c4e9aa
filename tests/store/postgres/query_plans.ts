/**
 * How PostgreSQL carries out statements: a session that notes how many rows each has read.
 *
 * @module
 */

import type { Session } from "../../../src/store/postgres/database/connections.ts";
import type { Row } from "../../../src/store/sql/row.ts";

/** A part of a plan, as `EXPLAIN` gives it. */
interface PlanNode {
  readonly "Node Type": string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly PlanNode[];
}

/** A statement that was run. */
export interface Explained {
  readonly sql: string;
  /** Rows that were read from tables. */
  readonly rows: number;
  /** The kinds of scans with the tables, such as `Index Scan tasks`. */
  readonly scans: readonly string[];
}

/** A session that runs each query twice: with `EXPLAIN`, and for its rows. */
export function explaining(db: Session, seen: Explained[]): Session {
  const all: Session["all"] = async (sql, ...values) => {
    const plan = await db.all(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, ...values);
    const [{ Plan: root }] = plan[0]?.["QUERY PLAN"] as unknown as [{ Plan: PlanNode }];
    const scans = nodesOf(root).filter((node) => node["Relation Name"] !== undefined);
    seen.push({
      sql,
      rows: scans.reduce((sum, node) => sum + readBy(node), 0),
      scans: scans.map((node) => `${node["Node Type"]} ${node["Relation Name"]}`),
    });
    return await db.all(sql, ...values);
  };
  const get: Session["get"] = async (...args): Promise<Row | undefined> => (await all(...args))[0];
  return Object.assign(Object.create(db) as Session, {
    all,
    get,
    prepared: get,
    run: (...args: Parameters<Session["run"]>) => db.run(...args),
    native: (...args: Parameters<Session["native"]>) => db.native(...args),
    lock: (...names: readonly string[]) => db.lock(...names),
    tryLock: (name: string) => db.tryLock(name),
  });
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function readBy(node: PlanNode): number {
  const removed = (node["Rows Removed by Filter"] ?? 0) +
    (node["Rows Removed by Index Recheck"] ?? 0);
  return (node["Actual Rows"] + removed) * node["Actual Loops"];
}
