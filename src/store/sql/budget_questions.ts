/**
 * The questions of steps that ask people for more of a budget, written once for both databases. Such a
 * question is the wait of its step, of kind `approval`, as any other. Its turn says that it is asked
 * (`asks`), and so that no other step asks the same. What came of it is counted with the next change of the
 * turn, under the lock of the budgets: once, whatever is killed between the answer and that.
 *
 * @module
 */

import type { AskedMore } from "../budget_records.ts";
import { isSameQuestion } from "../rules/budgets.ts";
import type { EndedWait, WaitPlace } from "../wait_records.ts";
import type { StepPlace } from "./budgets.ts";
import { json } from "./columns.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";
import { end, findWait, newestRound } from "./waits.ts";

/** A question, and its wait if that has been opened. */
export interface BudgetQuestion extends WaitPlace {
  readonly asks: AskedMore;
  /** Milliseconds since the epoch; 0 before it is opened. */
  readonly openedAt: number;
  /** Absent while it is open. */
  readonly end?: EndedWait;
}

/** What a row of `turns` asks for. */
export function toAsks(row: Row): AskedMore | undefined {
  return row["asks"] === null ? undefined : json(row, "asks") as AskedMore;
}

/** The question of a step as it stands, which nobody answers until the transaction ends. */
export async function openQuestion<Db extends SqlSession>(
  { lockRow }: { lockRow(db: Db, taskId: string): void | Promise<void> },
  db: Db,
  { taskId, position }: StepPlace,
  asks: AskedMore | undefined,
): Promise<BudgetQuestion | undefined> {
  if (asks === undefined) return undefined;
  await lockRow(db, taskId);
  const place = { taskId, position, round: await newestRound(db, taskId, position) };
  const wait = await findWait(db, place);
  const { openedAt = 0, end } = wait ?? {};
  return { ...place, asks, openedAt, ...(end === undefined ? {} : { end }) };
}

/** Whether a step goes on asking what it asks. */
export function isStillAsked({ asks, end }: BudgetQuestion, next: AskedMore | undefined): boolean {
  return end === undefined && next !== undefined && isSameQuestion(asks, next);
}

/** Ends a question that nobody needs to answer any more. */
export async function takeBack(
  db: SqlSession,
  { taskId, position, round }: WaitPlace,
  now: number,
): Promise<void> {
  await end(db, { taskId, position, round, part: 0, end: { by: "budget" }, now });
}

/** Removes what a step has asked before, which is counted: it can have one wait only. */
export async function forgetQuestions(
  db: SqlSession,
  { taskId, position }: StepPlace,
): Promise<void> {
  for (const table of ["wait_answers", "waits"]) {
    await db.run(`DELETE FROM ${table} WHERE task_id = ? AND position = ?`, taskId, position);
  }
}
