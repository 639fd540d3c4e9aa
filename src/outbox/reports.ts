/**
 * `report:` of a Trigger: the answers at the forge of their event when its tasks start, and when they
 * have ended. An answer for which the event has no place is left out: a push gets no comment, an issue
 * no status.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { FORGE_WORDS, FORGES, type StatusState } from "../base/forge_names.ts";
import type { Evaluator } from "../cel/evaluator.ts";
import { scopeOf } from "../cel/expression.ts";
import { compileTemplate, renderTemplate } from "../cel/template.ts";
import { refuseTokens } from "../outputs/leaks.ts";
import { answerKeyOf, type ForgeReport } from "../resources/report.ts";
import { wasKeptFromStarting } from "../resources/sender_guard.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { Task, TaskState } from "../store/task_records.ts";
import {
  addressOfReport,
  type AnswerAddress,
  commentDraft,
  reactionDraft,
  statusDraft,
} from "./answer_drafts.ts";
import type { Draft } from "./message_kind.ts";
import { type AnswerSources, payloadOf } from "./origin.ts";

/** The sources of reports. */
export interface ReportSources extends AnswerSources {
  readonly evaluator: Evaluator;
  readonly clock: WallClock;
}

const STATUS_OF: Readonly<Record<TaskState, StatusState>> = {
  pending: "pending",
  running: "pending",
  waiting: "pending",
  succeeded: "success",
  failed: "failure",
  cancelled: "error",
};

/**
 * The answers when a task starts, or has ended.
 *
 * @throws {AppError} `refused` if its event does not allow an answer; `overloaded`.
 */
export async function reportsAt(
  point: "started" | "ended",
  task: Task,
  host: ReportSources,
): Promise<readonly Draft[]> {
  const trigger = host.catalog.find<TriggerSpec>("Trigger", task.project, task.trigger);
  const reports = trigger?.spec.report;
  // A stranger whose task was kept from starting must not overwrite an earlier answer.
  if (reports === undefined || wasKeptFromStarting(task)) return [];
  const isOver = point === "ended";
  if (!FORGES.some((forge) => saysAnything(reports[forge], isOver))) return [];
  const address = await addressOfReport(task, host);
  const report = reports[address.subject.forge];
  if (report === undefined) throw nothingSaid(address);
  if (!saysAnything(report, isOver)) return [];
  if (!isOver && address.connection === "") return []; // the end reports it; a start would be sent too late
  const drafts = [
    report.react === true && address.subject.reactTo !== undefined
      ? reactionDraft(address, isOver ? endReaction(task) : "eyes")
      : undefined,
    statusOf(isOver ? task.state : "running", report, address),
    isOver ? await commentOf(report, address, host) : undefined,
  ];
  return drafts.filter((draft) => draft !== undefined);
}

/** Whether a block has something to say; the run of the task itself makes the pull. */
function saysAnything(report: ForgeReport | undefined, isOver: boolean): boolean {
  if (report === undefined) return false;
  const { react, status, comment } = report;
  return react === true || status !== undefined || isOver && comment !== undefined;
}

function nothingSaid({ task, subject: { forge } }: AnswerAddress): AppError {
  const message = `Task ${task.id} came from an event of ${FORGE_WORDS[forge].title}, and its ` +
    `trigger has no report.${forge}`;
  return new AppError("refused", message);
}

function endReaction({ state }: Task): "rocket" | "confused" {
  return state === "succeeded" ? "rocket" : "confused";
}

function statusOf(
  state: TaskState,
  { status: context }: ForgeReport,
  address: AnswerAddress,
): Draft | undefined {
  const { subject: { sha, isPull }, task } = address;
  if (context === undefined || sha === undefined && !isPull) return undefined;
  const description = state === "running" ? `Task ${task.id} runs` : describe(task);
  return statusDraft(address, { state: STATUS_OF[state], context, description });
}

async function commentOf(
  { comment, key }: ForgeReport,
  address: AnswerAddress,
  host: ReportSources,
): Promise<Draft | undefined> {
  const { task, subject: { number } } = address;
  if (comment === undefined || number === undefined) return undefined;
  const text = withoutTokens(await textOf(comment, address, host), host);
  if (text.trim() === "") return undefined; // it has nothing to say
  const name = key === undefined ? task.trigger : await keyOf(key, address, host);
  return commentDraft(address, { text, key: name, format: "markdown" });
}

/** The key of a comment; if its template yields none, or a token, the id of the task. */
async function keyOf(key: string, address: AnswerAddress, host: ReportSources): Promise<string> {
  try {
    const filled = await fill(key, address, host);
    refuseTokens({ key: filled }, host);
    return answerKeyOf(filled) ?? address.task.id;
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "overloaded") throw error;
    return address.task.id;
  }
}

/** The text of the comment; how the task ended if the template yields none because of that. */
async function textOf(
  comment: string,
  address: AnswerAddress,
  host: ReportSources,
): Promise<string> {
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

/** The text, or why it is not sent: a step that prints a token has it in its outputs. */
function withoutTokens(text: string, host: Pick<ReportSources, "clock">): string {
  try {
    refuseTokens({ answer: text }, host);
    return text;
  } catch (error) {
    return `There is no answer: ${messageOf(error)}`;
  }
}

/** Fills in a template of the report. */
async function fill(
  template: string,
  { task, origin }: AnswerAddress,
  { evaluator }: ReportSources,
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
      failure: step.failure ?? "",
      outputs: step.outputs ?? {},
    }])),
  }, `reports of ${project}/${trigger}`);
  return await renderTemplate(compileTemplate(template), scope, evaluator);
}

/** How a task ended, on one line. */
function describe({ id, workflow, state, reason }: Task): string {
  return `${workflow} ${state}${reason === "" ? "" : `: ${reason}`} (task ${id})`;
}
