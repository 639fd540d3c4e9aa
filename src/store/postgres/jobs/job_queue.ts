/**
 * The queue of tasks that are ready: which node takes a task, and which one takes it over when that
 * node is gone. A job stands for a task that is ready or runs, and ends in the transaction that
 * ends the task. Tasks that are delayed or queued for room have no job.
 *
 * To the engine a job is only an id: a node that was silent too long could keep and end the job
 * that another one has taken over. So a job is fetched together with a claim of its task
 * (`tasks/task_claims.ts`), and only the run with that claim ends it.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import { LEASE_MS } from "../../lease.ts";
import type { Connections, Session } from "../database/connections.ts";
import { notTheOwner } from "../database/migrate.ts";
import { text } from "../../sql/columns.ts";
import { QUEUE, SCHEMA } from "../functions/queue_names.ts";
import type { Executor, Job, PgBoss } from "./pg_boss.d.ts";

/** In one lease, the engine looks so often for jobs whose node is silent. */
const LOOKS_PER_LEASE = 6;

/** The queues that a node serves, and the project that has one to itself: none while it is drained. */
const SERVED = `
  SELECT queue, project FROM (
    SELECT '${QUEUE}' AS queue, NULL AS project UNION ALL
    SELECT queue, project FROM placements WHERE nodes IS NULL OR EXISTS (
      SELECT 1 FROM json_array_elements_text(nodes::json) AS node WHERE node = ANY (?1))
  ) AS named WHERE (project IS NULL OR project <> ALL (?2)) AND NOT EXISTS (
    SELECT 1 FROM nodes WHERE id = current_setting('svc.node') AND is_drained > 0)`;
/** The queue of each of their oldest jobs, in the order in which the engine fetches from one. */
const OLDEST = `
  SELECT served.queue FROM (${SERVED}) AS served
  LEFT JOIN unnest(?4::text[], ?5::bigint[]) AS room (project, free) ON room.project = served.project
  CROSS JOIN LATERAL (
    SELECT id, priority, created_on FROM ${SCHEMA}.job
    WHERE job.name = served.queue AND state < 'active' AND NOT blocked AND start_after <= now()
      AND (group_id IS NULL OR group_id <> ALL (?2))
    ORDER BY priority DESC, created_on LIMIT least(?3, room.free)
  ) AS job ORDER BY priority DESC, created_on, id LIMIT ?3`;

/** The node for which jobs are taken. */
export interface JobQueueOptions {
  /** A job whose node was silent for so long is fetched again, in milliseconds. */
  readonly leaseMs: number;
  /** The names by which a workspace may ask for the node: its name, its id and its labels. */
  readonly names: readonly string[];
  /** Whether its user may make and migrate tables of the schema; else they have to be there. */
  readonly isOwner: boolean;
}

/** The jobs of one database. */
export class JobQueue implements AsyncDisposable {
  readonly #boss: PgBoss;
  readonly #names: readonly string[];

  private constructor(boss: PgBoss, names: readonly string[]) {
    this.#boss = boss;
    this.#names = names;
  }

  /** Makes or migrates its tables, for daemons whose user may not. */
  static async install(connections: Connections): Promise<void> {
    const boss = await makeBoss(connections, { leaseMs: LEASE_MS, isOwner: true });
    await startBoss(boss, connections, { isOwner: true })
      .finally(() => boss.stop({ graceful: false }));
  }

  /**
   * Starts it, and makes or migrates its tables where its user may.
   *
   * @throws {AppError} `refused` where they have to be migrated by another user.
   */
  static async open(
    connections: Connections,
    { leaseMs, names, isOwner }: JobQueueOptions,
  ): Promise<JobQueue> {
    const boss = await makeBoss(connections, { leaseMs, isOwner });
    const jobs = new JobQueue(boss, names);
    try {
      await startBoss(boss, connections, { isOwner });
      await boss.updateQueue(QUEUE, { heartbeatSeconds: Math.ceil(leaseMs / 1000) });
    } catch (error) {
      await jobs[Symbol.asyncDispose]();
      throw error;
    }
    return jobs;
  }

  /**
   * Takes the first `limit` jobs, by priority and age, of all queues that this node serves, in this
   * transaction; gives the ids of their tasks. So none waits behind younger ones because it is in
   * another queue. Of some projects it takes none, and of those with a limit mostly no more than have
   * room.
   */
  async take(
    db: Session,
    limit: number,
    { except, rooms = [] }: {
      readonly except: readonly string[];
      readonly rooms?: readonly (readonly [project: string, free: number])[];
    },
  ): Promise<readonly string[]> {
    const oldest = await db.all(
      OLDEST,
      this.#names,
      except,
      limit,
      rooms.map(([project]) => project),
      rooms.map(([, free]) => free),
    );
    const queues = Map.groupBy(oldest, (row) => text(row, "queue"));
    const taken: Job[] = [];
    const takeFrom = async (queue: string, batchSize: number) =>
      void taken.push(
        ...await this.#boss.fetch(queue, {
          batchSize,
          db: inSession(db),
          ...(except.length === 0 ? {} : { ignoreGroups: except }),
        }),
      );
    for (const [queue, rows] of queues) await takeFrom(queue, rows.length);
    if (taken.length < oldest.length) { // others were taking some: the next may be in any queue
      for (const row of await db.all(SERVED, this.#names, except)) {
        if (taken.length < limit) await takeFrom(text(row, "queue"), limit - taken.length);
      }
    }
    return taken.map(({ data }) => String(data));
  }

  /** Says that these tasks, which this node has claimed, still run. */
  async touch(db: Session, taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    const jobs = await db.all(
      `SELECT job.name, job.id FROM unnest(?::text[]) AS task,
         (SELECT '${QUEUE}' AS queue UNION ALL SELECT queue FROM placements) AS queues,
         ${SCHEMA}.job WHERE job.name = queue AND job.id = job_of(task)`,
      taskIds,
    );
    for (const [queue, of] of Map.groupBy(jobs, (row) => text(row, "name"))) {
      await this.#boss.touch(queue, of.map((row) => text(row, "id")), { db: inSession(db) });
    }
  }

  /** Stops its looks; the jobs stay as they are. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#boss.stop({ graceful: false });
  }
}

async function makeBoss(
  connections: Connections,
  { leaseMs, isOwner }: Pick<JobQueueOptions, "leaseMs" | "isOwner">,
): Promise<PgBoss> {
  const lookSeconds = Math.ceil(leaseMs / 1000 / LOOKS_PER_LEASE);
  const { createEngine } = await import("./engine.ts");
  const boss = createEngine({
    db: { executeSql: (text, values) => connections.use((db) => execute(db, text, values)) },
    schema: SCHEMA,
    migrate: isOwner,
    schedule: false,
    superviseIntervalSeconds: lookSeconds,
    monitorIntervalSeconds: lookSeconds,
  });
  boss.on("error", () => {}); // of its looks: the next one does what this one could not
  return boss;
}

async function startBoss(
  boss: PgBoss,
  connections: Connections,
  { isOwner }: Pick<JobQueueOptions, "isOwner">,
): Promise<void> {
  await connections.transaction(async (db) => {
    await db.lock("schema"); // the engine does not take two that make its tables at once
    await db.exec("SET LOCAL idle_in_transaction_session_timeout = '60s'"); // it uses another one
    try {
      await boss.start();
    } catch (error) {
      if (isOwner || error instanceof AppError) throw error;
      throw notTheOwner(connections.address.user); // its tables are of another version
    }
    // a table of its own has half as many indexes
    if (isOwner) await boss.createQueue(QUEUE, { partition: true });
  });
}

const inSession = (db: Session): Executor => ({
  executeSql: (text, values) => db.native(text, values),
});

/**
 * Several statements without values may be a whole transaction, which must not be left half open.
 */
async function execute(db: Session, text: string, values?: readonly unknown[]): Promise<unknown> {
  try {
    return await db.native(text, values);
  } catch (error) {
    await db.native("ROLLBACK").catch(() => {});
    throw error;
  }
}
