/**
 * Open waits of tasks as a type of record, by their task and step.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { shortDuration } from "../../base/duration.ts";
import type { Column } from "../../resources/kind.ts";
import type { EndedWait } from "../../store/wait_records.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import type { ExplainedWait } from "./explained_waits.ts";
import { findOfStep, nameOfStep } from "./names_of_steps.ts";
import type { RecordType } from "./record_type.ts";

/** How a wait ended, as the end of a sentence. */
export function howEnded(end: EndedWait): string {
  switch (end.by) {
    case "time":
      return "its time came";
    case "hand":
      return `${end.who} ended it: ${end.reason}`;
    case "answer":
      return `${end.who.join(" and ")} ${end.answer} it`;
    case "event":
      return `the event of delivery/${end.deliveryId} came`;
    case "message":
      return "a message came";
    case "children":
      return end.refused === undefined ? "the tasks that it started ended" : end.refused;
    case "budget":
      return "the budget has room, or has changed";
    case "task":
      return "its task was cancelled";
  }
}

/** The type `wait`: the names `TASK.STEP` stand in the place of ids. */
export const WAITS: RecordType<ExplainedWait, "wait", Pick<WaitStore, "listWaits">> = {
  name: "wait",
  list: (store, { project, trigger, limit }) =>
    store.listWaits({ limit, ...defined({ project, trigger }) }),
  find: (store, given) => findOfStep(given, (query) => store.listWaits(query)),
  id: nameOfStep,
  view: waitView,
  columns: waitColumns,
  filters: ["trigger"],
};

function waitView(wait: ExplainedWait): Record<string, unknown> {
  return {
    id: nameOfStep(wait),
    project: wait.project,
    task_id: wait.taskId,
    step: wait.step,
    trigger: wait.trigger,
    workflow: wait.workflow,
    for: wait.kind,
    ...wait.kind !== "event" || wait.key === undefined
      ? {}
      : { event_trigger: wait.key.trigger, event_trigger_deleted: wait.isOrphan === true },
    opened_at: rfc3339(wait.openedAt),
    due_at: rfc3339(wait.dueAt),
  };
}

function waitColumns(now: number): Column<ExplainedWait>[] {
  return [
    { header: "TASK", fit: "id", cell: ({ taskId }) => taskId },
    { header: "STEP", fit: "name", cell: ({ step }) => step },
    {
      header: "FOR",
      cell: ({ kind, isOrphan }) => isOrphan === true ? `${kind} of a deleted trigger` : kind,
    },
    { header: "SINCE", cell: ({ openedAt }) => shortDuration(now - openedAt) },
    { header: "UNTIL", fit: "text", cell: ({ dueAt }) => rfc3339(dueAt) },
    { header: "WORKFLOW", fit: "name", cell: ({ workflow }) => workflow },
    { header: "TRIGGER", secondary: true, fit: "name", cell: ({ trigger }) => trigger },
  ];
}
