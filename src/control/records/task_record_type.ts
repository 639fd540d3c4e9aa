/**
 * Tasks as a sort of record (contract 6).
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { Task, TaskQuery, TaskState } from "../../store/task_records.ts";
import type { RecordQuery, RecordType } from "./record_type.ts";
import { taskColumns, taskView } from "./views.ts";

const STATES: readonly TaskState[] = ["pending", "running", "succeeded", "failed", "cancelled"];

/** Tasks. */
export const TASKS: RecordType<Task> = {
  names: ["task", "tasks"],
  list: (store, query) => store.listTasks(toTaskQuery(query)),
  find: (store, prefix) => store.findTasks(prefix),
  id: (task) => task.id,
  view: taskView,
  columns: taskColumns,
  filters: ["state", "workflow", "before"],
  open: {
    isOpen: (task) => task.finishedAt === undefined,
    states: ["running", "pending"],
  },
};

/**
 * A query for tasks.
 *
 * @throws {AppError} `usage` for a state that tasks do not have.
 */
function toTaskQuery({ outcome: _none, ...query }: RecordQuery): TaskQuery {
  const { state } = query;
  if (state === undefined || STATES.some((known) => known === state)) return query;
  throw new AppError("usage", `Unknown state "${state}", there are ${STATES.join(", ")}`);
}
