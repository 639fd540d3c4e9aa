/**
 * Tasks as a type of record.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { TASK_STATES, type TaskQuery } from "../../store/task_records.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { ExplainedTask } from "./explained_tasks.ts";
import type { RecordQuery, RecordType } from "./record_type.ts";
import { taskColumns, taskView } from "./views.ts";

/** Tasks, for `svc get`. */
export const TASKS: RecordType<ExplainedTask, "task", TaskStore> = {
  name: "task",
  list: (store, query) => store.listTasks(toTaskQuery(query)),
  find: (store, prefix) => store.findTasks(prefix),
  id: (task) => task.id,
  view: taskView,
  columns: taskColumns,
  filters: [
    "trigger",
    "state",
    "workflow",
    "before",
    "after",
    "until",
    "delivery",
    "parent",
    "retry_of",
    "session",
  ],
  passing: ["silent_since"],
  open: {
    isOpen: (task) => task.finishedAt === undefined,
    states: ["running", "pending", "waiting"],
    pending: "pending",
  },
};

/**
 * A query for tasks.
 *
 * @throws {AppError} `usage` for a state that tasks do not have.
 */
function toTaskQuery({ outcome: _none, ...query }: RecordQuery): TaskQuery {
  const { state } = query;
  if (state === undefined || TASK_STATES.some((known) => known === state)) return query;
  throw new AppError("usage", `Unknown state "${state}": use one of ${TASK_STATES.join(", ")}`);
}
