/**
 * The question of a step to people, whatever it asks: a step of kind `approval`, or one whose agent has used
 * up a budget. It is sealed by a digest over everything that is shown.
 *
 * @module
 */

import { sha256Hex } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { incidentOfApproval } from "../../store/approval_incident.ts";
import type { AskedApproval } from "../../store/approval_records.ts";
import type { Wait } from "../../store/wait_records.ts";
import { protectionFacts, protectionOf } from "../sandbox/approval_protection.ts";
import type { SealedTree } from "../workspace/sealed_tree.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import type { TaskContext } from "./task_context.ts";

/** Most open questions of a project. */
const MAX_OPEN = 1000;

/** What is asked, with its secrets hidden. */
export interface OpenQuestion
  extends Pick<AskedApproval, "ask" | "fields" | "by" | "need" | "fourEyes"> {
  /** The files that are shown. */
  readonly sealed?: SealedTree;
}

/**
 * Nobody answers a thousand questions: something asks in a loop.
 *
 * @throws {AppError} `invalid` when so many are open.
 */
export async function checkRoom(
  { host: { store }, claimed: { task: { project } } }: TaskContext,
): Promise<void> {
  if ((await store.countWaits(project)).approval < MAX_OPEN) return;
  throw new AppError(
    "invalid",
    `${MAX_OPEN} questions are open in project "${project}", so no more are asked: svc get approvals`,
  );
}

/** A question as it is stored with its wait. */
export async function sealQuestion(
  { ask, fields, by, need, fourEyes, sealed }: OpenQuestion,
  { step, position }: PositionedStep,
  { claimed, plan, host, steps }: TaskContext,
): Promise<AskedApproval> {
  const digest = sha256Hex(JSON.stringify([
    claimed.task.id,
    step.id,
    steps.roundOf(position),
    sha256Hex(claimed.plan),
    ask,
    Object.entries(fields),
    sealed?.tree ?? "",
    sealed?.head ?? "",
  ]));
  return {
    digest,
    ask,
    fields,
    by,
    need,
    fourEyes,
    ...defined({ tree: sealed?.tree, head: sealed?.head }),
    ...sealed?.isCut === true ? { isCut: true } : {},
    protection: protectionOf(plan, { ...await protectionFacts(host), by }),
  };
}

/** Has people told of a new question; of one that a crash interrupted, perhaps twice. */
export function publishQuestion(
  { parts: [part], project, taskId, position, round }: Wait,
  { step }: PositionedStep,
  { host: { events }, claimed: { task: { trigger, workflow } } }: TaskContext,
): void {
  if (part?.asked === undefined) return;
  const asked = part.asked as unknown as AskedApproval;
  const place = { taskId, position, round, project, step: step.id };
  const question = { ...place, trigger, workflow, dueAt: part.dueAt, asked };
  events.publish("incidentHappened", incidentOfApproval("approval.asked", question));
}
