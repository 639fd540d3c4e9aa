/**
 * Makes what the steps of a task need before the first of them starts: its directory, its files,
 * its inbox, its goal and the variables that name them.
 *
 * @module
 */

import { findText, utf8 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import { parseOwnJson } from "../../base/json.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import type { CancellationScope } from "../cancellation_scope.ts";
import { TASK_MARK, TASK_RUN_MARK } from "../step/inherited_env.ts";
import { fitsVariable } from "../step/step_env.ts";
import { enterDirectory } from "./own_directory.ts";
import type { Goal, TaskContext, TaskRun } from "./task_context.ts";

/**
 * Prepares a task.
 *
 * @throws {AppError} `invalid` when its directory cannot be made or its goal cannot be filled in.
 */
export async function prepareTask(
  run: TaskRun,
  cancellation: CancellationScope,
): Promise<TaskContext> {
  const [paths, directory] = await Promise.all([makeFiles(run), enterDirectory(run, cancellation)]);
  const goal = await renderGoal(run);
  return contextOf(run, { paths, directory, goal, neverRan: false });
}

/**
 * Prepares the `finally` steps of a task that could not run: they run in an empty directory, which is
 * removed at the end of the run.
 */
export async function prepareFinally(run: TaskRun): Promise<TaskContext> {
  const [paths, directory] = await Promise.all([
    makeFiles(run),
    run.files.makeDirectory("scratch"),
  ]);
  const goal = await renderGoal(run).catch(() => undefined); // the goal may be why it cannot run
  return contextOf(run, { paths, directory, goal, neverRan: true });
}

/** Paths of files that the steps find in their variables. */
interface Paths {
  readonly payload: string;
  readonly inbox: string;
}

async function makeFiles({ host, claimed, files }: TaskRun): Promise<Paths> {
  const [payload, inbox] = await Promise.all([
    files.make("payload.json", fileOf(claimed.payload)),
    host.inboxes.open(
      claimed.task.id,
      claimed,
      (content) => files.make("inbox.jsonl", content),
    ),
    files.prepareEmpty(),
  ]);
  return { payload, inbox };
}

/** A payload as steps read it: as JSON, or as plain text where the JSON is a string. */
function fileOf(json: Uint8Array): Uint8Array {
  const text = json[0] === 0x22 ? parseOwnJson(findText(json) ?? "") : undefined;
  return typeof text === "string" ? utf8(text) : json;
}

function contextOf(
  run: TaskRun,
  { paths, directory, goal, neverRan }:
    & { readonly paths: Paths }
    & Pick<TaskContext, "directory" | "goal" | "neverRan">,
): TaskContext {
  return {
    ...run,
    directory,
    goal,
    neverRan,
    variables: variablesOf(run, paths, goal),
    scope: run.scopeFor({ state: "running", goal, neverRan }),
  };
}

async function renderGoal(
  { plan: { goal }, evaluator, scopeFor }: TaskRun,
): Promise<Goal | undefined> {
  if (goal === undefined) return undefined;
  const template = compileTemplate(goal);
  try {
    return {
      template,
      text: await renderTemplate(template, scopeFor({ state: "running" }), evaluator),
    };
  } catch (cause) {
    if (!(cause instanceof AppError) || cause.code !== "invalid") throw cause;
    throw new AppError("invalid", `The goal cannot be filled in: ${cause.message}`, { cause });
  }
}

function variablesOf(
  { claimed: { task }, host, mark }: TaskRun,
  { payload, inbox }: Paths,
  goal: Goal | undefined,
): Record<string, string> {
  const goalText = goal?.text.toWellFormed();
  return {
    [TASK_MARK]: task.id,
    [TASK_RUN_MARK]: mark,
    SVC_TRIGGER: task.trigger,
    SVC_PROJECT: task.project,
    SVC_WORKFLOW: task.workflow,
    SVC_WORKSPACE: task.workspace,
    SVC_DELIVERY_ID: task.deliveryId,
    SVC_DATA_DIR: host.dirs.root,
    SVC_PAYLOAD_FILE: payload,
    SVC_INBOX: inbox,
    // A goal that no variable can hold is left out, never cut: the prompt has all of it.
    ...(goalText === undefined || !fitsVariable(goalText) ? {} : { SVC_GOAL: goalText }),
  };
}
