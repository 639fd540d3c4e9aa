/**
 * How budgets stand, from the tables `spend` and `turns`.
 *
 * @module
 */

import type { AskedBudget, BudgetUse } from "../budget_records.ts";
import { isSameBudget, type Reservation, reservedIn } from "../rules/budgets.ts";
import { toSpend } from "./budgets.ts";
import { json } from "./columns.ts";
import type { SqlSession } from "./session.ts";

/** How those budgets of a project stand that runs have used. */
export async function listBudgetUse(db: SqlSession, project: string): Promise<BudgetUse[]> {
  const rows = await db.all(
    "SELECT * FROM spend WHERE project = ? ORDER BY scope, unit, per",
    project,
  );
  const turns = await db.all(
    "SELECT state, budgets FROM turns WHERE project = ? AND budgets IS NOT NULL",
    project,
  );
  const those = (state: string) => turns.filter((row) => row["state"] === state);
  const held = those("held").flatMap((row) => json(row, "budgets") as Reservation[]);
  const limited = those("limited").map((row) => (json(row, "budgets") as AskedBudget[][]).flat());
  return rows.map((row) => {
    const { told: _told, ...spend } = toSpend(row);
    const waiting = limited.filter((all) => all.some((one) => isSameBudget(one, spend)));
    return { ...spend, ...reservedIn(spend, held), waiting: waiting.length };
  });
}
