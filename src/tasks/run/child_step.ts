/**
 * A step that starts tasks of another workflow (`workflow`), one or one for each item (`forEach`), and
 * waits for their end. It runs nothing itself, and is run again when they have ended, also after a restart.
 * What follows the end of one item, while others are left, is in `child_ends.ts`.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { findDurationSecs } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import { DEFAULT_PARALLEL } from "../../resources/child_workflow.ts";
import type {
  AskedChildren,
  Child,
  ChildResult,
  StartedChildren,
} from "../../store/child_records.ts";
import { MAX_RESULTS } from "../../store/rules/children.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { AskedWait, WaitPart } from "../../store/wait_records.ts";
import { childrenOf } from "../child_plan.ts";
import { inputsOf } from "./child_inputs.ts";
import { cancelChildren } from "./children.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import { refusal, retryInRun, type TaskContext } from "./task_context.ts";
import { latest } from "./wait_parts.ts";
import { dueAtOf, type Waiting } from "./waiting.ts";

/** A step that starts a workflow. */
type ChildStep = PositionedStep & { readonly workflow: string };

/** Starts the children of a step, or looks how they have ended; returns its last record, or that it waits. */
export async function startInStep(
  placed: ChildStep,
  context: TaskContext,
): Promise<StepRecord | Waiting> {
  const { step: { id }, position } = placed;
  const { host: { store, clock }, steps } = context;
  const now = clock.now();
  const base = { position, id };
  // The wait keeps what was asked first: a template may give something else when its step is run again.
  const hasBegun = steps.records[position]?.state === "waiting";
  // If the resources have changed meanwhile, its children are planned anew.
  const begun = await retryInRun(context, async () =>
    await store.startChildren(
      hasBegun ? askedAgain(placed, now, context) : await askedFirst(placed, now, context),
    )).catch(refusal);
  if (begun instanceof AppError) {
    const times = { startedAt: now, finishedAt: now };
    return { ...base, ...times, state: "failed", reason: begun.message, failure: "error" };
  }
  const started = await startNext(placed, begun, context);
  const { end, openedAt } = started.wait;
  if (end === undefined) {
    const until = dueAtOf(started.wait);
    const limit = placed.step.timeout === undefined ? "" : ` until ${rfc3339(until)}`;
    const reason = `waits for ${whichOf(started, placed)}${limit}`;
    return { state: "waiting", reason, until, openedAt };
  }
  // after its time, or where no more may be made, others may still be open
  if (end.by !== "task") await retryInRun(context, () => cancelChildren(context, position));
  const times = { startedAt: openedAt, finishedAt: Math.max(openedAt, end.at) };
  return { ...base, ...times, ...resultOf(started, placed) };
}

/** What a step asks for that has asked before. */
function askedAgain(placed: ChildStep, now: number, context: TaskContext): AskedChildren {
  const part: WaitPart = { kind: "task", dueAt: latest(now), isRelative: true };
  return {
    wait: waitOf(placed, part, now, context),
    children: [],
    isShared: false,
    sharedAbove: [],
  };
}

/**
 * What a step asks for the first time.
 *
 * @throws {AppError} `invalid` when `forEach` gives no list, or a text of `with` nothing or too much.
 */
async function askedFirst(
  { step, workflow, ...placed }: ChildStep,
  now: number,
  context: TaskContext,
): Promise<AskedChildren> {
  const { claimed: { task }, host: { catalog }, plan } = context;
  const { timeout, forEach, maxParallel = DEFAULT_PARALLEL } = step;
  const all = await inputsOf(step, context);
  const first = all.slice(0, maxParallel).map((inputs, item) => ({ item, inputs }));
  const place = { position: placed.position, round: context.steps.roundOf(placed.position) };
  const starting = { task, plan, step: { ...step, workflow }, ...place };
  const secs = timeout === undefined ? undefined : findDurationSecs(timeout);
  const part: WaitPart = {
    kind: "task",
    dueAt: secs === undefined ? latest(now) : now + secs * 1000,
    isRelative: true,
    asked: { items: all.length, maxParallel },
    ...forEach === undefined ? {} : { shown: JSON.stringify(all) },
  };
  const wait = waitOf(placed, part, now, context);
  return { wait, ...childrenOf(starting, first, { catalog, now }) };
}

/**
 * Makes the children that are next in a list whose first ones were made before its wait was opened: when
 * a task begins anew on another node. If those have ended, no end comes any more that would be followed.
 */
async function startNext(
  { step, workflow, ...placed }: ChildStep,
  started: StartedChildren,
  context: TaskContext,
): Promise<StartedChildren> {
  const { claimed: { task }, host: { store, clock, catalog }, plan } = context;
  const { wait: { round, end }, children: [child], made } = started;
  const isSettled = step.forEach === undefined || end !== undefined || made.length > 0;
  if (isSettled || child === undefined) return started;
  const { position } = placed;
  const starting = { task, plan, step: { ...step, workflow }, position, round };
  return await retryInRun(context, async () => {
    const found = await store.findNextChildren(child.id);
    if (found === undefined) return started;
    const now = clock.now();
    const { project, next, ...place } = found;
    return await store.startChildren({
      ...childrenOf(starting, next, { catalog, now }),
      wait: { ...place, project, parts: [], now },
    });
  });
}

function waitOf(
  { position }: Pick<ChildStep, "position">,
  part: WaitPart,
  now: number,
  { claimed: { task: { id: taskId, project } }, steps }: TaskContext,
): AskedWait {
  return { taskId, position, round: steps.roundOf(position), project, parts: [part], now };
}

/** Which tasks a step waits for. */
function whichOf(
  { wait: { parts: [part] }, children: [child] }: StartedChildren,
  { step: { forEach }, workflow }: ChildStep,
): string {
  if (forEach !== undefined) return `${part?.asked?.["items"]} tasks of workflow "${workflow}"`;
  return child === undefined ? "a task" : nameOf(child);
}

const nameOf = ({ id, workflow }: Child) => `task ${id} (workflow "${workflow}")`;

type Result = Pick<StepRecord, "state" | "reason" | "outputs" | "failure">;

/** What the end of a wait for children means for its step. */
function resultOf(
  { wait: { end }, children }: StartedChildren,
  { step: { timeout, forEach } }: ChildStep,
): Result {
  const [first] = children;
  const outputs = forEach === undefined
    ? { ...first?.outputs, ...first === undefined ? {} : { task_id: first.id } }
    : { results: JSON.stringify(children.map(resultOfItem)) };
  const failed = (reason: string, failure: Result["failure"] & string = "error"): Result => {
    return { state: "failed", reason, failure, outputs };
  };
  if (end?.by === "task") return { state: "cancelled", reason: "cancelled" };
  if (end?.by === "children" && end.refused !== undefined) return failed(end.refused);
  if (end?.by === "time") {
    const which = first === undefined || forEach !== undefined ? "its tasks" : nameOf(first);
    return failed(`${which} did not end within ${timeout}`, "timeout");
  }
  const bad = children.filter(({ state }) => state !== "succeeded");
  const [worst] = bad;
  if (worst !== undefined) {
    const item = forEach === undefined ? "" : `item ${worst.item}: `;
    const how = worst.state === "cancelled" ? "was cancelled" : "failed";
    const why = worst.reason === "" ? "" : `: ${worst.reason}`;
    const more = bad.length === 1 ? "" : `, and ${bad.length - 1} more`;
    return failed(`${item}${nameOf(worst)} ${how}${why}${more}`);
  }
  if ((outputs["results"]?.length ?? 0) > MAX_RESULTS) {
    const most = `${MAX_RESULTS / 1024} KiB`;
    return { ...failed(`the outputs of its tasks have more than ${most} together`), outputs: {} };
  }
  return { state: "succeeded", reason: "", outputs };
}

/** The outputs of an item; `null` of one that has not succeeded. */
const resultOfItem = ({ state, outputs }: ChildResult) => state === "succeeded" ? outputs : null;
