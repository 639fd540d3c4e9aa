/**
 * Functions of the schema `svc` by which a transaction adds and ends the jobs of its tasks,
 * straight in the table of pg-boss, as its documentation allows: a call of the engine for each
 * would be a round trip for each.
 *
 * @module
 */

import { LIMITING } from "../../sql/project_rooms.ts";
import { QUEUE, SCHEMA } from "./queue_names.ts";

/**
 * A job lives as long as its task, which the engine does not expect. These columns switch off what
 * the engine would do to such a job:
 *
 * - `expire_seconds`: after 15 minutes a job would count as failed, and run a second time.
 * - `keep_until`: after 14 days a job that waits would be deleted.
 * - `retry_limit`: after so many takeovers a job would fail. The worker decides when to give up.
 * - `start_after`: a job is fetched from this time on, by the database's clock, which may be set back.
 * - `priority`: the highest is fetched first, and of tasks the one with the least.
 * - `group_id`: the project, so that a claim can leave out those that are paused.
 * - `created_on`: jobs are fetched in its order, which is made the order of the tasks' ids.
 */
const ADD = `
  INSERT INTO ${SCHEMA}.job (id, name, data, group_id, priority, created_on, start_after, keep_until, expire_seconds,
      retry_limit, policy, heartbeat_seconds)
    SELECT svc.job_of(placed.id), placed.queue, to_jsonb(placed.id), placed.project, placed.priority, svc.time_of(placed.id),
      'epoch', 'infinity', 2000000000, 2147483647, 'standard', queue.heartbeat_seconds
    FROM unnest(task_ids, queues, projects, priorities)
      AS placed(id, queue, project, priority), ${SCHEMA}.queue
    WHERE queue.name = '${QUEUE}'
    ON CONFLICT DO NOTHING`;

/** The value of a digit of Crockford's base32, in which ids of tasks are. */
const digit = (at: number) =>
  `(strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, ${at}, 1)) - 1)::bigint`;

/** The first ten digits of an id are the time at which it was made, in milliseconds. */
const TIME = Array.from({ length: 10 }, (_, at) => `(${digit(at + 1)} << ${5 * (9 - at)})`)
  .join(" + ");

/**
 * Runs a statement for the jobs of `ids`. Most jobs are in the queue for every node, so only if
 * some are missing there does it look in the queues of placements.
 */
const withJobs = (statement: (which: string) => string) => `
    DECLARE
      jobs uuid[] := ARRAY(SELECT svc.job_of(task) FROM unnest(ids) AS task);
      found int;
    BEGIN
      ${statement(`name = '${QUEUE}' AND id = ANY (jobs)`)};
      GET DIAGNOSTICS found = ROW_COUNT;
      IF found < cardinality(jobs) THEN
        ${statement("name = ANY (ARRAY(SELECT queue FROM svc.placements)) AND id = ANY (jobs)")};
      END IF;
    END`;

/** The condition that only the node of a pending task has what it needs. */
export const IS_BOUND = "(retry_of IS NOT NULL AND epoch = 0 OR epoch > 0 AND stays_on_node = 1)";

/** Statements that create the functions, or replace those of an earlier version. */
export const JOB_FUNCTIONS = `
  CREATE OR REPLACE FUNCTION svc.millis_of(id text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$SELECT ${TIME}$$;
  CREATE OR REPLACE FUNCTION svc.time_of(id text) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
    $$SELECT to_timestamp(svc.millis_of(id) / 1000.0)$$;
  -- Begins with the time, so that the newest jobs lie together on disk.
  CREATE OR REPLACE FUNCTION svc.job_of(id text) RETURNS uuid LANGUAGE sql IMMUTABLE AS
    $$SELECT (lpad(to_hex(svc.millis_of(id)), 12, '0') || left(md5(id), 20))::uuid$$;

  -- The queue of each task, the nodes that serve it where not every node does, and the project that has
  -- it to itself, because it has a limit. A retry that keeps what steps of the task before it made is for
  -- the node that has that: it has its node before it is ever claimed. A task that was claimed before it
  -- gets a job was parked.
  CREATE OR REPLACE FUNCTION svc.placed(ids text[])
    RETURNS TABLE (id text, queue text, nodes text, only_project text, project text, priority int)
    LANGUAGE sql STABLE AS $$
      SELECT id, '${QUEUE}' || coalesce('/' || left(md5(CASE WHEN only_project IS NULL THEN nodes
          ELSE coalesce(nodes, '') || chr(10) || only_project END), 16), ''),
        nodes, only_project, project, -priority::int FROM (
        SELECT tasks.id, tasks.project, tasks.priority, CASE WHEN ${IS_BOUND}
            AND EXISTS (SELECT 1 FROM svc.nodes WHERE nodes.id = tasks.node)
          THEN json_build_array(tasks.node)::text ELSE plans.nodes END AS nodes,
          (SELECT name FROM svc.resources WHERE ${LIMITING} AND name = tasks.project) AS only_project
        FROM unnest(ids) AS wanted(id)
          -- Each by its key: planned while there are few tasks, \`= ANY\` would read all of them.
          CROSS JOIN LATERAL (SELECT * FROM svc.tasks WHERE tasks.id = wanted.id OFFSET 0) AS tasks
          JOIN svc.plans ON hash = plan_hash
      ) AS known $$;
  -- Adds a job for each of these tasks, which are ready.
  CREATE OR REPLACE FUNCTION svc.jobs_add(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      task_ids text[];
      queues text[];
      projects text[];
      priorities int[];
      node_lists text[];
      owners text[];
      made record;
    BEGIN
      SELECT array_agg(id), array_agg(queue), array_agg(nodes), array_agg(only_project),
          array_agg(project), array_agg(priority)
        INTO task_ids, queues, node_lists, owners, projects, priorities
        FROM svc.placed(ids);
      FOR made IN SELECT DISTINCT queue, nodes, owner
        FROM unnest(queues, node_lists, owners) AS one(queue, nodes, owner)
        WHERE (nodes IS NOT NULL OR owner IS NOT NULL)
          AND queue NOT IN (SELECT queue FROM svc.placements) ORDER BY queue
      LOOP
        PERFORM ${SCHEMA}.create_queue(made.queue, '{"policy": "standard"}');
        INSERT INTO svc.placements VALUES (made.queue, made.nodes, made.owner) ON CONFLICT DO NOTHING;
      END LOOP;
      ${ADD};
    END $$;
  -- Removes the jobs of these tasks, which have ended.
  CREATE OR REPLACE FUNCTION svc.jobs_end(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
    ${withJobs((which) => `DELETE FROM ${SCHEMA}.job WHERE ${which}`)} $$;
  -- Gives back the jobs of these tasks, which wait again: as the engine restores one, and in the same
  -- row, so that who waits for it to end it finds it.
  CREATE OR REPLACE FUNCTION svc.jobs_put_back(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
    ${
  withJobs((which) =>
    `UPDATE ${SCHEMA}.job SET state = 'created', started_on = NULL, heartbeat_on = NULL
        WHERE ${which}`
  )
} $$;
  -- The pauses, for a claim: none begins before its transaction ends. The second statement sees what
  -- was committed while the first one waited.
  CREATE OR REPLACE FUNCTION svc.pauses_for_claim()
    RETURNS TABLE (project text, until bigint) LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(hashtextextended('pause', 0));
      RETURN QUERY SELECT pauses.project, pauses.until FROM svc.pauses;
    END $$;
  -- Gives jobs that an older version made their project.
  CREATE OR REPLACE FUNCTION svc.jobs_name_projects() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE ${SCHEMA}.job SET group_id = tasks.project FROM svc.tasks
        WHERE group_id IS NULL AND tasks.id = job.data ->> 0;
    END $$;
  -- Moves the jobs of projects that have got a limit, or have lost it. Those that somebody is changing stay
  -- where they are: a claim finds them there, too.
  CREATE OR REPLACE FUNCTION svc.jobs_of_projects_move(projects text[]) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      ids text[] := ARRAY(SELECT job.data ->> 0 FROM ${SCHEMA}.job
        WHERE (name = '${QUEUE}' OR name IN (SELECT queue FROM svc.placements))
          AND state < 'active' AND group_id = ANY (projects) FOR UPDATE SKIP LOCKED);
    BEGIN
      ids := ARRAY(SELECT id FROM svc.placed(ids) AS placed WHERE NOT EXISTS (
        SELECT 1 FROM ${SCHEMA}.job WHERE job.name = placed.queue AND job.id = svc.job_of(placed.id)));
      PERFORM svc.jobs_end(ids);
      PERFORM svc.jobs_add(ids);
    END $$;
  -- Moves the jobs that were for one node alone, which is gone, to where any may take them.
  CREATE OR REPLACE FUNCTION svc.jobs_move(node text) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      ids text[] := ARRAY(SELECT job.data ->> 0 FROM svc.placements, ${SCHEMA}.job
        WHERE nodes = json_build_array(node)::text AND job.name = queue);
    BEGIN
      PERFORM svc.jobs_end(ids);
      PERFORM svc.jobs_add(ids);
    END $$;
`;
