/**
 * A step with `repeat`: begins its first round, and after each round ends, or begins the next one. It runs
 * nothing itself. It waits while its steps run, and is run again when all of them are over, also after a
 * restart.
 *
 * @module
 */

import { compileExpression } from "../../cel/expression.ts";
import { innerPlaces } from "../../resources/step_graph.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { StepLog } from "../log/task_log.ts";
import type { Rounds } from "../../resources/repeat.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import { endByItsSteps, endByUntil, recordsOfRound, roundText } from "./rounds.ts";
import type { TaskContext } from "./task_context.ts";

/** Begins the next round of a step, or gives its last record. */
export async function repeatInStep(
  { step: { id }, position, repeat: { max, until } }: PositionedStep & {
    readonly repeat: Rounds;
  },
  context: TaskContext,
  log: StepLog,
): Promise<StepRecord | undefined> {
  const { host: { clock }, plan, steps } = context;
  const { state, round: last = 1, startedAt = clock.now() } = steps.records[position] ?? {};
  const begin = async (round: number) => {
    await steps.beginRound(recordsOfRound({ position, round, startedAt }, plan, steps.records));
    await log.note(`${roundText({ round, max })} of "${id}" begins`);
  };
  if (state !== "waiting") return await begin(1) as undefined;
  const places = innerPlaces(plan.steps, position);
  const end = endByItsSteps(
    { round: last },
    places.flatMap((place) => plan.steps[place] ?? []),
    places.flatMap((place) => steps.records[place] ?? []),
  ) ?? endByUntil(
    { round: last, max },
    await context.evaluator.evaluate(compileExpression(until), context.scope),
  );
  if (end.is === "again") return await begin(last + 1) as undefined;
  const times = { startedAt, finishedAt: clock.now() };
  const base = { position, id, round: last, ...times, state: end.state, reason: end.reason };
  return end.state === "failed" ? { ...base, failure: "error" } : base;
}
