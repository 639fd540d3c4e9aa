/**
 * A step that asks people (`approval`): makes its question once, seals it with a digest, and opens a wait
 * for the answers. When that is over, the step is run again and finds the answer, as any step that waits.
 * What was approved has to be what is there: if the files are sealed, they are read again then.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { findDurationSecs } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import { type Approval, DEFAULT_APPROVAL_TIMEOUT } from "../../resources/approval.ts";
import { howDecided, keptText, MAX_FIELD_BYTES, shortDigest } from "../../store/rules/approvals.ts";
import type { AskedApproval, AskedField } from "../../store/approval_records.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { AskedWait, EndedWait, Wait, WaitPart } from "../../store/wait_records.ts";
import type { StepLog } from "../log/task_log.ts";
import type { SealedTree } from "../workspace/sealed_tree.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import { checkRoom, publishQuestion, sealQuestion } from "./question.ts";
import { refusal, retryInRun, type TaskContext } from "./task_context.ts";
import { dueAtOf, type Waiting } from "./waiting.ts";

/** A step that asks. */
type AskingStep = PositionedStep & { readonly approval: Approval };

/** What a step asks, and a long text that is shown beside it. */
type Question = Required<Pick<WaitPart, "asked">> & Pick<WaitPart, "shown">;

/** Most bytes of a question. */
const MAX_ASK_BYTES = MAX_FIELD_BYTES;

/** A question that has been asked before is stored: nobody reads this one. */
const ASKED_BEFORE: Question = { asked: {} };

/** Asks people, or looks whether they have answered; returns the last record of the step, or that it waits. */
export async function askInStep(
  placed: AskingStep,
  context: TaskContext,
  log: StepLog,
): Promise<StepRecord | Waiting> {
  const { step: { id }, position, approval } = placed;
  const { host: { store, clock, eventWaits }, claimed: { task }, steps: { records } } = context;
  const now = clock.now();
  const hasBegun = records[position]?.state === "waiting";
  const failed = (reason: string, at = now): StepRecord => ({
    position,
    id,
    state: "failed",
    reason,
    failure: "error",
    startedAt: records[position]?.startedAt ?? now,
    finishedAt: at,
  });
  const question = hasBegun ? ASKED_BEFORE : await makeQuestion(placed, context).catch(refusal);
  if (question instanceof AppError) return failed(question.message);
  const told = await tellOf(question, placed, context, log);
  const secs = findDurationSecs(approval.timeout ?? DEFAULT_APPROVAL_TIMEOUT) ?? 0;
  const asked: AskedWait = {
    taskId: task.id,
    position,
    round: context.steps.roundOf(placed.position),
    project: task.project,
    parts: [{
      kind: "approval",
      dueAt: now + secs * 1000,
      isRelative: true,
      ...question,
      ...defined({ key: told?.key }),
    }],
    ...defined({ messages: told?.messages }),
    now,
  };
  const wait = await retryInRun(context, () => store.openWait(asked));
  const { end, openedAt } = wait;
  if (end === undefined) {
    if (wait.parts[0]?.key !== undefined) await eventWaits.lookBack(wait);
    const until = dueAtOf(wait);
    if (question !== ASKED_BEFORE) publishQuestion(wait, placed, context);
    const reason = `asks ${approval.by.join(", ")} until ${rfc3339(until)}`;
    return { state: "waiting", reason, until, openedAt };
  }
  await tellEnd(saidIn(end, approval), placed, context);
  const changed = isApproval(end) ? await whatChanged(wait, context).catch(refusal) : undefined;
  if (changed !== undefined) {
    const why = changed instanceof AppError ? changed.message : changed;
    return failed(`${saidIn(end, approval)}, but ${why}`, clock.now());
  }
  const base = { position, id, startedAt: openedAt, finishedAt: Math.max(openedAt, end.at) };
  if (end.by === "task") return { ...base, state: "cancelled", reason: "cancelled" };
  const reason = saidIn(end, approval);
  await log.note(`step "${id}": ${reason}`);
  const goesOn = isApproval(end) || approval.onReject === "continue";
  return {
    ...base,
    reason,
    ...goesOn ? { state: "succeeded" } : {
      state: "failed",
      failure: end.by === "time" ? "timeout" : "error",
    },
    outputs: outputsOf(end),
  };
}

/** Where a new question goes; nowhere if its workflow names nothing, or it was asked before. */
async function tellOf(
  question: Question,
  placed: AskingStep,
  context: TaskContext,
  log: StepLog,
): Promise<Pick<AskedWait, "messages"> & Pick<WaitPart, "key"> | undefined> {
  const { approval: { tell }, step } = placed;
  const { host: { teller }, claimed: { task } } = context;
  if (tell === undefined || teller === undefined || question === ASKED_BEFORE) return undefined;
  const told = await teller.ask({
    task,
    step: step.id,
    round: context.steps.roundOf(placed.position),
    asked: question.asked as unknown as AskedApproval,
    ...defined({ diff: question.shown }),
  }, tell);
  for (const lack of told.lacks) await log.note(`step "${step.id}" tells nobody there: ${lack}`);
  return told;
}

/** Says what came of a question where it was told. */
async function tellEnd(said: string, placed: AskingStep, context: TaskContext): Promise<void> {
  const { approval: { tell }, step } = placed;
  if (tell === undefined) return;
  const { host: { teller }, claimed: { task } } = context;
  const place = { task, step: step.id, round: context.steps.roundOf(placed.position) };
  await retryInRun(context, async () => await teller?.over(place, said));
}

const isApproval = (end: EndedWait) => end.by === "answer" && end.answer === "approved";

/** How a question was decided, for people, on one line. */
function saidIn(end: EndedWait, { timeout = DEFAULT_APPROVAL_TIMEOUT }: Approval): string {
  return end.by === "answer" ? howDecided(end) : `nobody decided within ${timeout}`;
}

function outputsOf(end: EndedWait): Record<string, string> {
  if (end.by !== "answer") return { answer: "timeout", by: "", comment: "" };
  const { answer, who, comment, fields } = end;
  return { ...fields, answer, by: who.join(", "), comment };
}

/**
 * Makes the question of a step. Secrets in it are hidden before anything else is done with it.
 *
 * @throws {AppError} `invalid` when it cannot be made.
 */
async function makeQuestion(placed: AskingStep, context: TaskContext): Promise<Question> {
  const { approval } = placed;
  const { host: { secrets } } = context;
  await checkRoom(context);
  const ask = await fill(approval.ask, "The question", context);
  if (ask.trim() === "") {
    throw new AppError(
      "invalid",
      'The question is empty: "ask" gave nothing that people could read',
    );
  }
  const fields = await fillFields(approval, context);
  const sealed = approval.diff === true ? await seal(context) : undefined;
  const { by, need = 1, fourEyes = false } = approval;
  const question = { ask, fields, by, need, fourEyes, ...defined({ sealed }) };
  const asked = await sealQuestion(question, placed, context);
  return {
    asked: asked as unknown as JsonObject,
    ...defined({ shown: sealed && secrets.redact(sealed.diff) }),
  };
}

async function fillFields(
  { fields = {} }: Approval,
  context: TaskContext,
): Promise<Record<string, AskedField>> {
  const filled: Record<string, AskedField> = {};
  for (const [name, { type, of, default: preset }] of Object.entries(fields)) {
    const value = preset === undefined
      ? undefined
      : await fill(preset, `The default of "${name}"`, context);
    if (value !== undefined && of !== undefined && !of.includes(value)) {
      const message = `The default of "${name}" is none of ${of.join(", ")}`;
      throw new AppError("invalid", message);
    }
    filled[name] = { type, ...defined({ of, default: value }) };
  }
  return filled;
}

async function fill(
  text: string,
  what: string,
  { scope, evaluator, host: { secrets } }: TaskContext,
): Promise<string> {
  const rendered = await renderTemplate(compileTemplate(text), scope, evaluator);
  const filled = keptText(secrets.redact(rendered));
  if (new TextEncoder().encode(filled).length <= MAX_ASK_BYTES) return filled;
  throw new AppError("invalid", `${what} has more than ${MAX_ASK_BYTES / 1024} KiB`);
}

/** The files as they are now. */
async function seal(
  { files, directory, claimed, host, signals }: TaskContext,
): Promise<SealedTree> {
  const tmp = await files.makeDirectory(`seal.${crypto.randomUUID()}`);
  try {
    const tools = { taskId: claimed.task.id, signal: signals.stop };
    return await host.directories.seal(directory, tmp, tools);
  } finally {
    await Deno.remove(tmp, { recursive: true }).catch(() => {});
  }
}

/** What is not as it was approved; `undefined` if all is. */
async function whatChanged({ parts }: Wait, context: TaskContext): Promise<string | undefined> {
  const { tree, head } = parts[0]?.asked as unknown as AskedApproval;
  if (tree === undefined) return undefined;
  const now = await seal(context);
  if (now.tree !== tree) {
    return `the files are not those that were shown: they were tree ${
      shortDigest(tree)
    }, and are ` +
      `${shortDigest(now.tree)} now. "svc task retry" asks again`;
  }
  if (now.head === head) return undefined;
  return `what is committed is not what was shown: HEAD was ${shortDigest(head ?? "")}, and is ` +
    `${shortDigest(now.head)} now. "svc task retry" asks again`;
}

/** Takes back the questions of a task that has ended early: their steps will not run any more. */
export async function takeBackQuestions(
  { plan, steps: { records }, host: { teller }, claimed: { task } }: TaskContext,
  why: string,
): Promise<void> {
  for (const { position, state, round = 1 } of records) {
    const step = plan.steps[position];
    if (state !== "waiting" || step?.approval?.tell === undefined) continue;
    await teller?.over({ task, step: step.id, round }, why);
  }
}
