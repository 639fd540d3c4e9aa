/**
 * Functions of the schema `svc` by which a transaction adds and ends the jobs of its tasks, straight
 * in the table of pg-boss, as its documentation allows: a call of the engine for each would be a
 * round trip for each.
 *
 * @module
 */

import { QUEUE, SCHEMA } from "./queue_names.ts";

/**
 * What the engine would do to a job that lives as long as a task may, and how each of it is held
 * off:
 *
 * - `expire_seconds`: after 15 minutes a job counts as failed, and would run a second time.
 * - `keep_until`: after 14 days a job that waits is deleted.
 * - `retry_limit`: it counts how often a job was taken over; who gives up on a task is the worker.
 * - `start_after`: a job is fetched from then on by the database's clock, which may be set back.
 * - `created_on`: jobs are fetched in its order, which so is the order of the tasks' ids.
 */
const NEW_JOB = `
  INSERT INTO ${SCHEMA}.job (id, name, data, created_on, start_after, keep_until, expire_seconds,
      retry_limit, policy, heartbeat_seconds)
    SELECT svc.job_of(task), '${QUEUE}', to_jsonb(task), svc.time_of(task), 'epoch', 'infinity',
      2000000000, 2147483647, 'standard', queue.heartbeat_seconds
    FROM unnest(ids) AS task, ${SCHEMA}.queue WHERE queue.name = '${QUEUE}'`;

/** The value of a digit of Crockford's base32, in which ids of tasks are. */
const digit = (at: number) =>
  `(strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, ${at}, 1)) - 1)::bigint`;

/** The first ten digits of an id are the time at which it was made, in milliseconds. */
const TIME = Array.from({ length: 10 }, (_, at) => `(${digit(at + 1)} << ${5 * (9 - at)})`)
  .join(" + ");

/** A job is put back in the queue as the engine itself would restore it. */
const AS_NEW = "state = 'created', started_on = NULL, heartbeat_on = NULL";

/** Makes the functions, or replaces those of an earlier version. */
export const JOB_FUNCTIONS = `
  CREATE OR REPLACE FUNCTION svc.millis_of(id text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$SELECT ${TIME}$$;
  CREATE OR REPLACE FUNCTION svc.time_of(id text) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
    $$SELECT to_timestamp(svc.millis_of(id) / 1000.0)$$;
  -- Begins with the time, so that the newest jobs lie together on disk.
  CREATE OR REPLACE FUNCTION svc.job_of(id text) RETURNS uuid LANGUAGE sql IMMUTABLE AS
    $$SELECT (lpad(to_hex(svc.millis_of(id)), 12, '0') || left(md5(id), 20))::uuid$$;

  -- Adds a job for each of these tasks, which are ready.
  CREATE OR REPLACE FUNCTION svc.jobs_add(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN ${NEW_JOB} ON CONFLICT DO NOTHING; END $$;
  -- Removes the jobs of these tasks, which have ended.
  CREATE OR REPLACE FUNCTION svc.jobs_end(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM ${SCHEMA}.job
        WHERE name = '${QUEUE}' AND id = ANY (ARRAY(SELECT svc.job_of(task) FROM unnest(ids) task));
    END $$;
  -- Gives back the jobs of these tasks, which wait again; one without a job gets a new one.
  CREATE OR REPLACE FUNCTION svc.jobs_put_back(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN ${NEW_JOB} ON CONFLICT (name, id) DO UPDATE SET ${AS_NEW}; END $$;
`;
