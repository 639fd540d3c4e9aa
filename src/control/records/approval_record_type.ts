/**
 * Questions of approvals as JSON, and as a type of record.
 *
 * @module
 */

import type { ApprovalView, ShownApproval } from "../../api/approval_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { shortDuration } from "../../base/duration.ts";
import type { Column } from "../../resources/kind.ts";
import type { Approval } from "../../store/approval_records.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import { shortDigest } from "../../store/rules/approvals.ts";
import { findOfStep, nameOfStep } from "./names_of_steps.ts";
import type { RecordType } from "./record_type.ts";
import { howEnded } from "./wait_record_type.ts";

/** The type `approval`: the names `TASK.STEP` stand in the place of ids. */
export const APPROVALS: RecordType<Approval, "approval", Pick<WaitStore, "listApprovals">> = {
  name: "approval",
  list: (store, { project, trigger, limit }) =>
    store.listApprovals({ limit, ...defined({ project, trigger }) }),
  find: (store, given) => findOfStep(given, (query) => store.listApprovals(query)),
  id: nameOfStep,
  view: (approval) => ({ ...approvalView(approval) }),
  columns: approvalColumns,
  filters: ["trigger"],
};

/** A question as JSON, without what it shows beside. */
export function approvalView(approval: Approval): ApprovalView {
  const { asked, answers, taskId } = approval;
  return {
    id: nameOfStep(approval),
    project: approval.project,
    task_id: taskId,
    step: approval.step,
    round: approval.round,
    workflow: approval.workflow,
    trigger: approval.trigger,
    ask: asked.ask,
    fields: Object.fromEntries(
      Object.entries(asked.fields).map(([name, { type, default: preset, of }]) => [
        name,
        { type, default: preset ?? null, of: of ?? null },
      ]),
    ),
    by: asked.by,
    need: asked.need,
    four_eyes: asked.fourEyes,
    answers: answers.map((one) => ({
      by: one.called,
      person: one.person ?? null,
      answer: one.answer,
      comment: one.comment,
      fields: one.fields,
      surface: one.surface,
      at: rfc3339(one.at),
    })),
    digest: asked.digest,
    tree: asked.tree ?? null,
    protection: asked.protection,
    opened_at: rfc3339(approval.openedAt),
    due_at: rfc3339(approval.dueAt),
  };
}

/** A question as JSON, with all that it shows. */
export function shownApproval(approval: Approval): ShownApproval {
  const { diff, asked, end } = approval;
  return {
    ...approvalView(approval),
    diff: diff ?? null,
    diff_is_cut: asked.isCut === true,
    ended: end === undefined ? null : `${howEnded(end)}, ${rfc3339(end.at)}`,
  };
}

function approvalColumns(now: number): Column<Approval>[] {
  const given = ({ answers }: Approval) =>
    answers.filter(({ answer }) => answer === "approved").length;
  return [
    { header: "TASK", fit: "id", cell: ({ taskId }) => taskId },
    { header: "STEP", fit: "name", cell: ({ step }) => step },
    { header: "ASKS", fit: "text", cell: ({ asked }) => asked.by.join(",") },
    { header: "GIVEN", cell: (one) => `${given(one)} of ${one.asked.need}` },
    { header: "SINCE", cell: ({ openedAt }) => shortDuration(now - openedAt) },
    { header: "LEFT", cell: ({ dueAt }) => shortDuration(Math.max(0, dueAt - now)) },
    { header: "DIGEST", cell: ({ asked }) => shortDigest(asked.digest) },
    {
      header: "QUESTION",
      secondary: true,
      fit: "text",
      cell: ({ asked }) => asked.ask.replace(/\s+/g, " ").slice(0, 80),
    },
    { header: "WORKFLOW", secondary: true, fit: "name", cell: ({ workflow }) => workflow },
  ];
}
