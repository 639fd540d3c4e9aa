/**
 * Turns and sessions in SQLite, where one daemon has them all.
 *
 * @module
 */

import { IS_UNUSED } from "../sql/sessions.ts";
import { text } from "../sql/columns.ts";
import * as budgets from "../sql/budgets.ts";
import * as turns from "../sql/turns.ts";
import type { Database } from "./engine/database.ts";
import { wakeTasks } from "./tasks/wake_tasks.ts";

const HOST: turns.TurnHost<Database> = {
  nodeOf: () => "",
  nameOf: (_db, node) => Promise.resolve(node), // never: there is no other node
  checkClaim() {},
  wake: wakeTasks,
  lockRow() {},
};

/** Gives a step its turn, or puts it in the queue for one. */
export const takeTurn = turns.takeTurn(HOST);
/** Ends turns of a task. */
export const endTurn = turns.endTurn(HOST);
/** Notes that an agent is limited. */
export const noteLimit = turns.noteLimit(HOST);

/** Settles a run that has ended. */
export const settleRun = budgets.settleRun(HOST);
/** Lets the steps of a project that wait for a budget ask again. */
export const askBudgetsAgain = budgets.askBudgetsAgain(HOST);

/** Removes the sessions that no step has used since `before`; returns their ids. */
export function pruneSessions(db: Database, before: number, limit: number): string[] {
  return db.all(
    `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions INDEXED BY sessions_by_use
       WHERE used_at < ? AND ${IS_UNUSED} ORDER BY used_at LIMIT ?) RETURNING id`,
    before,
    limit,
  ).map((row) => text(row, "id"));
}
