/**
 * A question to people, as an incident that Notifications report. Pure.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { DEFAULT_PROJECT } from "../resources/resource.ts";
import type { Approval } from "./approval_records.ts";
import type { Incident } from "./incident_records.ts";

/** Most characters of a question in a message: all of it is in the list. */
const MAX_ASK = 300;

/** What is reported of a question: that it is asked, or that half of its time is over. */
export function incidentOfApproval(
  kind: "approval.asked" | "approval.overdue",
  { taskId, position, round, project, step, trigger, workflow, dueAt, asked }: Omit<
    Approval,
    "answers" | "openedAt"
  >,
): Incident {
  const { ask, by } = asked;
  const line = ask.trim().replace(/\s+/g, " ");
  const shown = line.length > MAX_ASK ? `${line.slice(0, MAX_ASK)}…` : line;
  const flag = project === DEFAULT_PROJECT ? "" : ` --project ${project}`;
  return {
    kind,
    project,
    connection: "",
    reason: `step ${step} of workflow ${workflow} asks ${by.join(", ")} until ${rfc3339(dueAt)}: ` +
      `${shown}\nsvc get approvals${flag}`,
    taskId,
    workflow,
    ...defined({ trigger: trigger || undefined }),
    subject: `${taskId}.${position}.${round}`,
  };
}

/** Whether half of the time of an open question is over, and not all of it: nobody can answer then. */
export function isOverdue(
  { openedAt, dueAt }: Pick<Approval, "openedAt" | "dueAt">,
  now: number,
): boolean {
  return now >= openedAt + (dueAt - openedAt) / 2 && now < dueAt;
}
