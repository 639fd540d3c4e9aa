/**
 * The steps that a retry does not run again: they are done, and need no step that runs again; and which
 * messages the others are given again. Pure.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { innerPlaces, needsOf } from "../../resources/step_graph.ts";
import type { StepRecord } from "../../store/task_records.ts";
import { isOver, isTasksReason } from "./flow.ts";
import type { Plan, PlannedStep } from "../plan.ts";
import { recordsOfRound } from "./rounds.ts";

/** An ended task, with the facts that decide which of its steps run again. */
export interface EndedTask {
  /** Its steps and those under `finally`, as in the plan. */
  readonly plan: Pick<Plan, "steps" | "finally">;
  /** Record of each step, in the same order. */
  readonly records: readonly StepRecord[];
}

/**
 * The records with which a retry begins: those of the steps that are not run again, and those of a `repeat`
 * that goes on in its round. These run again: the step `from`, steps that failed, were cancelled or never
 * ran, steps that need any of those, and always the steps under `finally`. A `repeat` goes on in its round
 * if some of its steps are left in it; otherwise, and as `from`, it begins with its first round.
 */
export function keptSteps({ plan: { steps }, records }: EndedTask, from?: string): StepRecord[] {
  const blocks = new Map(
    steps.flatMap(({ id, repeat }, place) => repeat === undefined ? [] : [[id, place] as const]),
  );
  const isLeft = (place: number) => !isDone(steps[place], records[place]);
  const blockOf = (place: number) => blocks.get(steps[place]?.within ?? "");
  const rerun = new Set(
    [...steps.keys()].filter((place) => {
      const block = blockOf(place);
      return steps[place]?.id === from || isLeft(block ?? place) && isLeft(place);
    }),
  );
  const anew = new Set(
    [...blocks.values()].filter((block) =>
      steps[block]?.id === from || isLeft(block) && !canGoOn(block, { steps, records, isLeft })
    ),
  );
  const places = new Map(steps.map(({ id }, place) => [id, place]));
  const isRerun = (id: string) => rerun.has(places.get(id) ?? -1);
  for (let before = -1; before !== rerun.size + anew.size;) {
    before = rerun.size + anew.size;
    for (const [place, { within = "" }] of steps.entries()) {
      const block = blocks.get(within);
      const isNeeding = needsOf(steps, place).some(isRerun);
      if (isNeeding || block !== undefined && anew.has(block)) rerun.add(place);
      if (isUsedUp(steps[place], { steps, records, rerun })) rerun.add(place);
      if (isNeeding && steps[place]?.repeat !== undefined) anew.add(place);
      if (block !== undefined && rerun.has(place)) rerun.add(block);
    }
  }
  return [...steps.keys()].flatMap((place) => {
    const [record, block] = [records[place], blockOf(place) ?? place];
    if (record === undefined) return [];
    if (!rerun.has(place)) return [record];
    if (steps[block]?.repeat === undefined || anew.has(block)) return [];
    return inItsRound({ block, place }, { steps, records });
  });
}

/** Whether a `repeat` has begun, and steps of it are left in its round. */
function canGoOn(
  block: number,
  { steps, records, isLeft }: {
    readonly steps: readonly PlannedStep[];
    readonly records: readonly StepRecord[];
    readonly isLeft: (place: number) => boolean;
  },
): boolean {
  const inner = innerPlaces(steps, block);
  const { round = 1, startedAt } = records[block] ?? {};
  const hasBegun = round > 1 || startedAt !== undefined || inner.some((place) => !isLeft(place));
  return hasBegun && inner.some(isLeft);
}

/** The record of a `repeat`, or of one of its steps that runs again in its round. */
function inItsRound(
  { block, place }: { readonly block: number; readonly place: number },
  { steps, records }: {
    readonly steps: readonly PlannedStep[];
    readonly records: readonly StepRecord[];
  },
): StepRecord[] {
  const { round = 1, startedAt } = records[block] ?? {};
  return recordsOfRound({ position: block, round, ...defined({ startedAt }) }, { steps }, records)
    .filter(({ position }) => position === place);
}

/**
 * Whether the answer to an approval counts no more: a step that needs it has done its work with it, and
 * is to do it again. An answer to what the files were, or by somebody else than who started the task, is
 * for the task that asked.
 */
function isUsedUp(
  step: PlannedStep | undefined,
  { steps, records, rerun }: {
    readonly steps: readonly PlannedStep[];
    readonly records: readonly StepRecord[];
    readonly rerun: ReadonlySet<number>;
  },
): boolean {
  if (step?.approval === undefined) return false;
  const { id, approval } = step;
  const again = [...rerun].flatMap((place) =>
    needsOf(steps, place).includes(id) ? records[place] ?? [] : []
  );
  const isForOneTask = approval.diff === true || approval.fourEyes === true;
  return again.some(({ state }) => isForOneTask || state === "succeeded");
}

/** Whether a step is done; a skipped step only if its own condition was false. */
function isDone(step: PlannedStep | undefined, record: StepRecord | undefined): boolean {
  if (step === undefined || record === undefined) return false;
  if (record.state === "succeeded") return true;
  return record.state === "skipped" && step.when !== undefined && wasEvaluated(record);
}

/** Whether the condition of a skipped step was evaluated, or its task had ended before. */
function wasEvaluated({ reason }: StepRecord): boolean {
  return reason !== "" && !isTasksReason(reason);
}

/**
 * The records that the steps begin with which a retry runs again and which were given messages: they are
 * given these again. What the old task has read counts as read in the retry, too.
 *
 * @param kept the records with which the retry begins otherwise.
 */
export function withMessages(
  records: readonly StepRecord[],
  kept: readonly StepRecord[],
): StepRecord[] {
  const begins = new Map(kept.map((record) => [record.position, record]));
  const given = records.flatMap(({ position, id, readFrom, round = 1 }): StepRecord[] => {
    const record = begins.get(position) ?? { position, id, state: "pending", reason: "" };
    if (readFrom === undefined || isOver(record)) return [];
    // Which messages its earlier rounds had is not known.
    const isAnew = round !== (record.round ?? 1);
    return [{ ...record, readFrom: isAnew ? 0 : readFrom }];
  });
  return [...new Map([...kept, ...given].map((record) => [record.position, record])).values()];
}
