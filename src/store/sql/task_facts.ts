/**
 * Converts rows of both databases to the facts that transactions ask for.
 *
 * @module
 */

import type { DebouncedTask, EarlierEvent } from "../rules/event_outcome.ts";
import type { TaskState } from "../task_records.ts";
import type { DueTask, StoredTask, UnreadyTask } from "../transactions/task_rows.ts";
import { number, text } from "./columns.ts";
import { LIMIT_COLUMNS, toLimits } from "./limits.ts";
import type { Row } from "./row.ts";
import { toReadiness } from "./readiness.ts";

/** Columns that {@linkcode toStoredTask} takes. */
export const STORED_TASK_COLUMNS =
  `state, readiness, started_at, plan_hash, directory, ${LIMIT_COLUMNS}`;

/** Converts a row with {@linkcode STORED_TASK_COLUMNS}. */
export function toStoredTask(row: Row): StoredTask {
  return {
    state: text(row, "state") as TaskState,
    hasStarted: row["started_at"] !== null,
    readiness: toReadiness(number(row, "readiness")),
    ...(row["plan_hash"] === null ? {} : { planHash: text(row, "plan_hash") }),
    hasDirectory: row["directory"] !== null,
    limits: toLimits(row),
  };
}

/** Columns that {@linkcode toUnreadyTask} takes. */
export const UNREADY_TASK_COLUMNS = `id, ${LIMIT_COLUMNS}`;

/** Converts a row with {@linkcode UNREADY_TASK_COLUMNS}. */
export function toUnreadyTask(row: Row): UnreadyTask {
  return { id: text(row, "id"), limits: toLimits(row) };
}

/** Columns that {@linkcode toDueTask} takes. */
export const DUE_TASK_COLUMNS = `state, readiness, ${UNREADY_TASK_COLUMNS}`;

/** Converts a row with {@linkcode DUE_TASK_COLUMNS}. */
export function toDueTask(row: Row): DueTask {
  return {
    ...toUnreadyTask(row),
    state: text(row, "state") as TaskState,
    readiness: toReadiness(number(row, "readiness")),
  };
}

/** Columns that {@linkcode toDebouncedTask} takes. */
export const DEBOUNCED_TASK_COLUMNS = `id, readiness, plan_hash, ${LIMIT_COLUMNS}`;

/** A task that later events of its debounce key join. */
export function toDebouncedTask(row: Row): DebouncedTask {
  return {
    id: text(row, "id"),
    readiness: toReadiness(number(row, "readiness")),
    limits: toLimits(row),
    planHash: text(row, "plan_hash"),
  };
}

/** Converts a row of `dedup_keys`, joined with its task, whose time is in `received_at`. */
export function toEarlierEvent(row: Row): EarlierEvent {
  return {
    deliveryId: text(row, "delivery_id"),
    receivedAt: number(row, "received_at"),
    taskId: text(row, "task_id"),
    state: text(row, "state") as TaskState,
  };
}
