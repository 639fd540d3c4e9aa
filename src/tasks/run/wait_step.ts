/**
 * A step that waits (`waitFor`): opens its wait, or looks whether that is over. It runs nothing. While
 * the wait is open its task needs no worker; when it is over, the step is run again and finds that out,
 * also after a restart, so there is one way through.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { partsOf, subjectOf, type WaitFor, type WaitForPart } from "../../resources/wait_for.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { AskedWait, EndedWait, WaitPart } from "../../store/wait_records.ts";
import type { StepLog } from "../log/task_log.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import { refusal, retryInRun, type TaskContext } from "./task_context.ts";
import { latest, waitParts } from "./wait_parts.ts";
import { dueAtOf, type Waiting } from "./waiting.ts";

/** Waits in a step; returns its last record, or that it waits. */
export async function waitInStep(
  placed: PositionedStep,
  context: TaskContext,
  log: StepLog,
): Promise<StepRecord | Waiting> {
  const { step: { id, waitFor = {} }, position } = placed;
  const { host: { store, clock, eventWaits }, claimed: { task } } = context;
  const now = clock.now();
  const base = { position, id };
  // It is asked once: a template may give nothing, or something else, when its step is run again.
  const hasBegun = context.steps.records[position]?.state === "waiting";
  const parts = hasBegun
    ? [KEPT(now)]
    : await waitParts({ ...placed, waitFor }, now, context).catch(refusal);
  if (parts instanceof AppError) {
    const times = { startedAt: now, finishedAt: now };
    return { ...base, ...times, state: "failed", reason: parts.message, failure: "error" };
  }
  const asked: AskedWait = {
    taskId: task.id,
    position,
    round: context.steps.roundOf(position),
    project: task.project,
    parts,
    now,
  };
  let wait = await retryInRun(context, () => store.openWait(asked));
  // One that begins anew, because the clock was set back, takes events that it did not take before.
  const begins = !hasBegun || wait.openedAt === now;
  if (wait.end === undefined && begins && wait.parts.some(comesFromOutside)) {
    // Its record says that it waits only after this, so a crash in between does it again.
    const opened = wait;
    await retryInRun(context, () => eventWaits.lookBack(opened));
    wait = await retryInRun(context, () => store.openWait({ ...asked, now: clock.now() }));
  }
  const { end, openedAt } = wait;
  if (end === undefined) {
    const until = dueAtOf(wait);
    const reason = `waits${subjectsOf(waitFor)} until ${rfc3339(until)}`;
    return { state: "waiting", reason, until, openedAt };
  }
  if (end.by === "message") context.inbox.advance(end.position + 1);
  const times = { startedAt: openedAt, finishedAt: Math.max(openedAt, end.at) };
  const result = resultOf(end, waitFor);
  if (end.by === "hand") await log.note(`step "${id}" was ${result.reason}`);
  if (end.by === "time") {
    for (const miss of await eventWaits.nearMisses(wait)) await log.note(`step "${id}": ${miss}`);
  }
  return { ...base, ...times, ...result };
}

/** In the place of the parts of a wait that is open: it keeps its own. */
const KEPT = (now: number): WaitPart => ({ kind: "time", dueAt: latest(now), isRelative: false });

const comesFromOutside = ({ kind }: WaitPart) => kind === "event" || kind === "message";

/** What a step waits for, in words that follow "waits"; nothing for a time. */
function subjectsOf(waitFor: WaitFor): string {
  const words = partsOf(waitFor).flatMap((part) => {
    const subject = subjectOf(part);
    if (subject === "trigger") return [`an event of trigger ${part.trigger}`];
    return subject === "message" ? ["a message"] : [];
  });
  return words.length === 0 ? "" : ` for ${words.join(" or ")}`;
}

/** What a wait that is over means for its step. */
function resultOf(
  end: EndedWait,
  waitFor: WaitFor,
): Pick<StepRecord, "state" | "reason" | "outputs" | "failure"> {
  const part = partsOf(waitFor)[end.part] ?? {};
  const which = waitFor.any === undefined ? {} : { which: nameOf(part) };
  const inTime = waitFor.onTimeout === "continue" ? { timed_out: "false" } : {};
  const done = (outputs: Readonly<Record<string, string>>, reason = "") => ({
    state: "succeeded" as const,
    reason,
    ...(Object.keys(outputs).length === 0 ? {} : { outputs }),
  });
  switch (end.by) {
    case "event":
      return done({ ...end.outputs, ...which, ...inTime, delivery_id: end.deliveryId });
    case "message":
      return done({ ...end.outputs, ...which, ...inTime });
    case "hand":
      return done({ ...end.outputs, ...inTime }, `continued by ${end.who}: ${end.reason}`);
    case "answer":
    case "budget":
    case "children":
      return done({});
    case "time":
      if ((part.for ?? part.until) !== undefined) return done(which);
      if (waitFor.onTimeout === "continue") return done({ timed_out: "true" });
      return {
        state: "failed",
        reason: `waited${subjectsOf(waitFor)} that did not come within ${waitFor.timeout}`,
        failure: "timeout",
      };
    case "task":
      return { state: "cancelled", reason: "cancelled" };
  }
}

/** The name of a part of `any` in the output `which`. */
function nameOf(part: WaitForPart): string {
  return part.trigger ?? subjectOf(part);
}
