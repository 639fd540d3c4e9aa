/**
 * The names of the job queue's schema and of its common queue in the database.
 *
 * @module
 */

/** The schema in which pg-boss has its tables. */
export const SCHEMA = "svc_jobs";
/** The queue of tasks that any node may run. */
export const QUEUE = "task";
