/**
 * Invariants of the database that a cluster shares, read past the daemons.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import type { Row } from "../../src/store/sql/row.ts";

/** Reads the rows of a cluster's database. */
export class Books implements AsyncDisposable {
  readonly #connections: Connections;

  constructor(database: string) {
    const owner = { node: "tests", run: "tests" };
    this.#connections = new Connections({ url: database, owner, max: 1 });
  }

  /** Fails unless each task that is ready or running has its job, and no other job exists. */
  async agree(): Promise<void> {
    deepEqual(
      await this.#all(`
        SELECT tasks.id, tasks.state, job.id AS job, job.state AS job_state
        FROM (SELECT * FROM tasks WHERE state = 'running' OR state = 'pending' AND readiness = 0) AS tasks
        FULL JOIN svc_jobs.job ON job.id = job_of(tasks.id)
        WHERE tasks.id IS NULL OR job.id IS NULL OR job.state = 'active' AND tasks.state = 'pending'`),
      [],
    );
  }

  /** The tasks that have not ended: who has claimed each, how often it was claimed, and what its job says. */
  async left(): Promise<readonly Row[]> {
    return await this.#all(`
      SELECT tasks.id, tasks.state, readiness, node, epoch, job.state::text AS job
      FROM tasks LEFT JOIN svc_jobs.job ON job.id = job_of(tasks.id)
      WHERE finished_at IS NULL ORDER BY tasks.id`);
  }

  /** `X-GitHub-Delivery` of each accepted delivery, sorted; repeats stay. */
  async accepted(): Promise<readonly string[]> {
    const rows = await this.#all(
      `SELECT headers::json ->> 'x-github-delivery' AS id FROM deliveries
       WHERE outcome = 'accepted' ORDER BY 1`,
    );
    return rows.map(({ id }) => String(id));
  }

  /** Number of tasks that are `running` in the name of a node. */
  async running(node: string): Promise<number> {
    const [row] = await this.#all(
      `SELECT count(*) FROM tasks JOIN nodes ON nodes.id = tasks.node
       WHERE state = 'running' AND name = ?`,
      node,
    );
    return Number(row?.["count"]);
  }

  #all(sql: string, ...values: readonly string[]): Promise<Row[]> {
    return this.#connections.use((db) => db.all(sql, ...values));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections[Symbol.asyncDispose]();
  }
}
