/**
 * What a step with `waitFor` asks for when its wait is opened: its templates filled in, and its times.
 *
 * @module
 */

import { oneLine } from "../../agents/readable.ts";
import { findInstant } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { findDurationSecs } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import { firstIdAt } from "../../base/ids.ts";
import { isHeavier } from "../../cel/values.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import {
  MAX_WAIT,
  MAX_WAIT_SECS,
  partsOf,
  subjectOf,
  type WaitFor,
  type WaitForPart,
} from "../../resources/wait_for.ts";
import { canMatch, digestOf, MAX_MATCH_BYTES, shapeOf } from "../../store/rules/wait_keys.ts";
import type { WaitPart } from "../../store/wait_records.ts";
import { type AskedEvent, type AskedOfArrival, readOfTask } from "../asked_event.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import { readySince } from "./ready_since.ts";
import type { TaskContext } from "./task_context.ts";

/** Most characters that the conditions of a wait may read of its task: they are stored with it. */
const MAX_SCOPE = 256 * 1024;

/** When a wait is over at the latest; a wait that is open keeps its own time, whatever is asked then. */
export const latest = (now: number): number => now + MAX_WAIT_SECS * 1000;

/**
 * The parts of a wait that is opened now.
 *
 * @throws {AppError} `invalid` when a template gives nothing that can be waited for, or a trigger does
 * not exist.
 */
export async function waitParts(
  placed: PositionedStep & { readonly waitFor: WaitFor },
  now: number,
  context: TaskContext,
): Promise<WaitPart[]> {
  const { waitFor } = placed;
  const { timeout } = waitFor;
  const readyAt = Math.min(readySince(placed, context), now);
  const dueAt = timeout === undefined ? latest(now) : now + durationMs(timeout);
  const parts: WaitPart[] = [];
  for (const part of partsOf(waitFor)) {
    const subject = subjectOf(part);
    parts.push(
      subject === "trigger"
        ? {
          kind: "event",
          dueAt,
          isRelative: true,
          ...await forEvent(part, { now, readyAt }, context),
        }
        : subject === "message"
        ? { kind: "message", dueAt, isRelative: true, asked: { ...ofArrival(part, context) } }
        : {
          kind: "time",
          dueAt: await dueTime(part, now, context),
          isRelative: subject === "for",
        },
    );
  }
  return parts;
}

const durationMs = (time: string | number) => (findDurationSecs(time) ?? 0) * 1000;

async function forEvent(
  { trigger = "", match = {}, since = "task", ...part }: WaitForPart,
  { now, readyAt }: { readonly now: number; readonly readyAt: number },
  context: TaskContext,
): Promise<Required<Pick<WaitPart, "asked" | "key">>> {
  const { scope, evaluator, claimed: { task }, host: { catalog } } = context;
  if (catalog.find("Trigger", task.project, trigger) === undefined) {
    throw new AppError("invalid", `There is no Trigger "${trigger}" in project "${task.project}"`);
  }
  const expressions = Object.keys(match).toSorted();
  const texts: string[] = [];
  for (const expression of expressions) {
    const template = compileTemplate(match[expression] ?? "");
    const text = await renderTemplate(template, scope, evaluator);
    if (!canMatch(text)) throw new AppError("invalid", whyNoKey(expression, text));
    texts.push(text);
  }
  // If the clock was set back, later events may sort before that of the task.
  const from = since === "task"
    ? [task.deliveryId, firstIdAt(now)].sort()[0] ?? ""
    : firstIdAt(since === "step" ? readyAt : now - durationMs(since));
  const asked: AskedEvent = {
    expressions,
    texts,
    from,
    not: task.deliveryId,
    ...ofArrival(part, context),
  };
  return {
    asked: { ...asked },
    key: { trigger, shape: shapeOf(expressions), digest: digestOf(texts) },
  };
}

function whyNoKey(expression: string, text: string): string {
  const found = text === ""
    ? "gave nothing, which matches no event"
    : `gave more than ${MAX_MATCH_BYTES} bytes`;
  return `The text for "${oneLine(expression, 80)}" in "match" ${found}`;
}

function ofArrival(part: WaitForPart, { scope: { variables } }: TaskContext): AskedOfArrival {
  const asked = defined({ if: part.if, outputs: part.outputs });
  const scope = readOfTask(asked, variables);
  if (isHeavier(scope, MAX_SCOPE)) {
    throw new AppError(
      "invalid",
      `"if" and "outputs" read more than ${
        MAX_SCOPE / 1024
      } KiB of the task: name the outputs of ` +
        "steps that they need",
    );
  }
  return Object.keys(scope).length === 0 ? asked : { ...asked, scope };
}

async function dueTime(
  { for: time, until = "" }: WaitForPart,
  now: number,
  { scope, evaluator }: TaskContext,
): Promise<number> {
  if (time !== undefined) return now + durationMs(time);
  const text = (await renderTemplate(compileTemplate(until), scope, evaluator)).trim();
  const at = findInstant(text);
  if (at === undefined) {
    throw new AppError(
      "invalid",
      `"until" gave "${oneLine(text, 80)}", which is no time such as 2030-01-31T09:00:00Z`,
    );
  }
  if (at <= latest(now)) return at;
  throw new AppError("invalid", `"until" gave ${text}, which is more than ${MAX_WAIT} away`);
}
