/**
 * Rows that contradict each other, which `svc db check` looks for in either database.
 *
 * @module
 */

import { text } from "./columns.ts";
import { UNFINISHED } from "./readiness.ts";
import type { Row } from "./row.ts";

/** Most faults of one kind that are listed. */
export const MAX_LISTED = 20;

/** Rows that should not be there. */
export interface ImpossibleRows {
  /** Selects their ids as `id`. */
  readonly sql: string;
  readonly show: (ids: string) => string;
}

/** The contradictions that are looked for, each with its query and its sentence. */
export const IMPOSSIBLE_ROWS: readonly ImpossibleRows[] = [
  {
    sql: `SELECT DISTINCT task_id AS id FROM steps
          WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = steps.task_id)`,
    show: (ids) => `There are steps of tasks that do not exist: ${ids}`,
  },
  {
    sql: `SELECT id FROM tasks WHERE plan_hash IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM plans WHERE plans.hash = tasks.plan_hash)`,
    show: (ids) => `There are tasks whose plan is gone: ${ids}`,
  },
  {
    sql: `SELECT id FROM tasks WHERE ${UNFINISHED} AND plan_hash IS NULL`,
    show: (ids) => `There are tasks that wait or run without a plan: ${ids}`,
  },
  {
    sql: `SELECT id FROM tasks
          WHERE state NOT IN ('pending', 'running', 'waiting', 'succeeded', 'failed', 'cancelled')`,
    show: (ids) => `There are tasks in no state: ${ids}`,
  },
  {
    sql: `SELECT id FROM tasks WHERE (finished_at IS NULL) <> (${UNFINISHED})`,
    show: (ids) => `There are tasks whose state and end time contradict each other: ${ids}`,
  },
  {
    sql: `SELECT task_id AS id FROM steps JOIN tasks ON tasks.id = task_id
          WHERE steps.state = 'running' AND tasks.state <> 'running'`,
    show: (ids) => `There are steps that run in tasks that do not: ${ids}`,
  },
  {
    sql: `SELECT task_id AS id FROM steps JOIN tasks ON tasks.id = task_id
          WHERE steps.state = 'waiting' AND NOT tasks.${UNFINISHED}`,
    show: (ids) => `There are steps that wait in tasks that have ended: ${ids}`,
  },
  {
    sql: `SELECT task_id AS id FROM task_ends
          WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = task_ends.task_id)`,
    show: (ids) => `There are unhandled ends of tasks that do not exist: ${ids}`,
  },
  {
    sql: `SELECT DISTINCT task_id AS id FROM turns WHERE NOT EXISTS (SELECT 1 FROM tasks
          WHERE tasks.id = turns.task_id AND tasks.${UNFINISHED})`,
    show: (ids) => `There are turns of agents of tasks that have ended or do not exist: ${ids}`,
  },
  {
    sql: `SELECT DISTINCT task_id AS id FROM turns WHERE (run IS NOT NULL) <> (state = 'held'
          AND budgets IS NOT NULL) OR (state = 'limited' AND budgets IS NULL)
          OR (asks IS NOT NULL AND (state NOT IN ('limited', 'woken') OR budgets IS NULL))`,
    show: (ids) => `There are tasks whose budgets have something set aside for no run: ${ids}`,
  },
  {
    sql: `SELECT DISTINCT project || ' ' || scope AS id FROM spend
          WHERE spent < 0 OR unknown < 0 OR granted < 0 OR ends_at <= starts_at`,
    show: (ids) => `There are budgets that no run can have left so: ${ids}`,
  },
  {
    sql: `SELECT id FROM tasks WHERE state = 'waiting' AND run_at IS NULL
          AND NOT EXISTS (SELECT 1 FROM turns WHERE task_id = tasks.id AND turns.state = 'waiting')
          AND NOT EXISTS (SELECT 1 FROM waits WHERE task_id = tasks.id AND waits.state = 'open')`,
    show: (ids) => `There are tasks that wait for nothing, so they never go on: ${ids}`,
  },
  {
    sql: `SELECT id FROM tasks WHERE state = 'waiting'
          AND (started_at IS NULL OR readiness NOT IN (0, 1) OR cancel_reason IS NOT NULL
            AND EXISTS (SELECT 1 FROM waits WHERE task_id = tasks.id AND waits.state = 'open'))`,
    show: (ids) => `There are tasks that wait and cannot: ${ids}`,
  },
  {
    sql: `SELECT DISTINCT task_id AS id FROM waits WHERE NOT EXISTS (SELECT 1 FROM tasks
          WHERE tasks.id = waits.task_id AND (waits.state = 'over' OR tasks.${UNFINISHED}))`,
    show: (ids) =>
      `There are waits of tasks that do not exist, or open ones of ended tasks: ${ids}`,
  },
  {
    sql: `SELECT DISTINCT task_id AS id FROM waits
          WHERE (event_trigger IS NULL) <> (shape IS NULL) OR (shape IS NULL) <> (digest IS NULL)
            OR kind = 'event' AND event_trigger IS NULL`,
    show: (ids) => `There are waits for events that no event can end: ${ids}`,
  },
  {
    sql: `SELECT DISTINCT task_id AS id FROM waits WHERE (state = 'over') <> (over_at IS NOT NULL)
            OR state <> 'over' AND (result IS NOT NULL OR delivery_id IS NOT NULL)
            OR delivery_id IS NOT NULL AND (result IS NULL OR event_trigger IS NULL)`,
    show: (ids) => `There are waits that are over and open at once: ${ids}`,
  },
  {
    sql: `SELECT DISTINCT task_id AS id FROM wait_answers AS given WHERE NOT EXISTS (
          SELECT 1 FROM waits WHERE waits.task_id = given.task_id
            AND waits.position = given.position AND waits.round = given.round
            AND waits.kind = 'approval')`,
    show: (ids) => `There are answers of people to nothing that was asked: ${ids}`,
  },
  {
    sql: `SELECT DISTINCT parent_id AS id FROM children
          WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = children.parent_id)`,
    show: (ids) => `There are children of tasks that do not exist: ${ids}`,
  },
  {
    sql: `SELECT id FROM tasks WHERE root_id IS NOT NULL AND parent_id IS NULL`,
    show: (ids) => `There are children that no task has started: ${ids}`,
  },
  {
    sql: `SELECT id FROM tasks WHERE read_up_to > messages OR messages <= (
          SELECT max(position) FROM inbox WHERE task_id = tasks.id)`,
    show: (ids) =>
      `There are tasks that have read, or are to get, more than they were told: ${ids}`,
  },
  {
    sql: `SELECT id FROM conversations
          WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = conversations.task_id)`,
    show: (ids) => `There are conversations with tasks that do not exist: ${ids}`,
  },
  {
    sql:
      `SELECT DISTINCT message_id AS id FROM outbox_content WHERE NOT EXISTS (SELECT 1 FROM outbox
          WHERE outbox.id = message_id AND outbox.state IN ('held', 'pending', 'failed'))`,
    show: (ids) => `There are long parts of messages that are over or do not exist: ${ids}`,
  },
];

/**
 * The sentence about rows that were found; one row more than {@linkcode MAX_LISTED} says that there
 * are more.
 */
export function listed(rows: readonly Row[], show: ImpossibleRows["show"]): string[] {
  const ids = rows.map((row) => text(row, "id"));
  const more = ids.length > MAX_LISTED ? " and more" : "";
  return ids.length === 0 ? [] : [`${show(ids.slice(0, MAX_LISTED).join(", "))}${more}`];
}
