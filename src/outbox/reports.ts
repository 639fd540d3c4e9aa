/**
 * `report:` of a Trigger: what its tasks are answered with at GitHub when they start, and when they
 * have ended. What an event has no place for is left out: a push has no comment, an issue no
 * status.
 *
 * @module
 */

import { AppError, messageOf } from "../base/errors.ts";
import type { Evaluator } from "../cel/evaluator.ts";
import { scopeOf } from "../cel/expression.ts";
import { compileTemplate, renderTemplate } from "../cel/template.ts";
import { answerKeyOf, type Report } from "../resources/report.ts";
import { wasKeptFromStarting } from "../resources/sender_guard.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { Task, TaskState } from "../store/task_records.ts";
import {
  type Addressed,
  addressOfReport,
  commentDraft,
  type GitHubAnswersHost,
  reactionDraft,
  statusDraft,
} from "./github_answers.ts";
import type { StatusState } from "./github_status.ts";
import type { Draft } from "./message_kind.ts";
import { payloadOf } from "./origin.ts";

/** What reports need. */
export interface ReportsHost extends GitHubAnswersHost {
  readonly evaluator: Pick<Evaluator, "evaluate">;
}

const STATUS_OF: Readonly<Record<TaskState, StatusState>> = {
  pending: "pending",
  running: "pending",
  succeeded: "success",
  failed: "failure",
  cancelled: "error",
};

/**
 * What a task is answered with when it starts, or has ended.
 *
 * @throws {AppError} `refused` when its event does not allow it; `overloaded`.
 */
export async function reportsAt(
  point: "started" | "ended",
  task: Task,
  host: ReportsHost,
): Promise<readonly Draft[]> {
  const found = host.catalog.find<TriggerSpec>("Trigger", task.project, task.trigger);
  const report = found?.spec.report?.github;
  // Else a stranger could write over an answer that others were given.
  if (report === undefined || wasKeptFromStarting(task)) return [];
  const isOver = point === "ended";
  if (!isOver && report.react !== true && report.status === undefined) return [];
  const address = await addressOfReport(task, host);
  if (!isOver && address.connection === "") return []; // told at the end: it would come too late
  const made = [
    report.react === true && address.subject.reactTo !== undefined
      ? reactionDraft(address, isOver ? endReaction(task) : "eyes")
      : undefined,
    statusOf(isOver ? task.state : "running", report, address),
    isOver ? await commentOf(report, address, host) : undefined,
  ];
  return made.filter((draft) => draft !== undefined);
}

function endReaction({ state }: Task): "rocket" | "confused" {
  return state === "succeeded" ? "rocket" : "confused";
}

function statusOf(
  state: TaskState,
  { status: context }: Report["github"],
  address: Addressed,
): Draft | undefined {
  const { subject: { sha, isPull }, task } = address;
  if (context === undefined || sha === undefined && !isPull) return undefined;
  const description = state === "running" ? `Task ${task.id} runs` : describe(task);
  return statusDraft(address, { state: STATUS_OF[state], context, description });
}

async function commentOf(
  { comment, key }: Report["github"],
  address: Addressed,
  host: ReportsHost,
): Promise<Draft | undefined> {
  const { task, subject: { number } } = address;
  if (comment === undefined || number === undefined) return undefined;
  const text = await textOf(comment, address, host);
  if (text.trim() === "") return undefined; // it has nothing to say
  const name = key === undefined ? task.trigger : await nameOf(key, address, host);
  return commentDraft(address, { text, key: name, format: "markdown" });
}

/** The name of a comment; where its template gives none, it is a comment of this task alone. */
async function nameOf(key: string, address: Addressed, host: ReportsHost): Promise<string> {
  const filled = await fill(key, address, host).catch((error) => {
    if (!(error instanceof AppError) || error.code === "overloaded") throw error;
    return "";
  });
  return answerKeyOf(filled) ?? address.task.id;
}

/** What the comment says; how the task ended, where that keeps it from saying it. */
async function textOf(comment: string, address: Addressed, host: ReportsHost): Promise<string> {
  const { task } = address;
  const isWell = task.state === "succeeded";
  try {
    const text = await fill(comment, address, host);
    return text.trim() === "" && !isWell ? describe(task) : text;
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "overloaded") throw error;
    return isWell ? `There is no answer: ${messageOf(error)}` : describe(task);
  }
}

/** A template of the report, filled in with how the task ended. */
async function fill(
  template: string,
  { task, origin }: Addressed,
  { evaluator }: ReportsHost,
): Promise<string> {
  const { id, project, trigger, workflow, workspace, state, reason, steps } = task;
  const scope = scopeOf({
    get payload() {
      return payloadOf(origin);
    },
    headers: origin.content?.headers ?? {},
    trigger: { name: trigger, project },
    delivery: { id: origin.delivery.id },
    task: { id, workflow, workspace, state, reason },
    steps: Object.fromEntries(steps.map((step) => [step.id, {
      state: step.state,
      exit_code: step.exitCode ?? null,
      outputs: step.outputs ?? {},
    }])),
  }, `reports of ${project}/${trigger}`);
  return await renderTemplate(compileTemplate(template), scope, evaluator);
}

/** How a task ended, in a line. */
function describe({ id, workflow, state, reason }: Task): string {
  return `${workflow} ${state}${reason === "" ? "" : `: ${reason}`} (task ${id})`;
}
