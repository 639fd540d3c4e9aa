/**
 * Lets the steps that wait for a budget ask again when budgets have been applied: a limit that was raised
 * helps at once.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { allBudgets } from "../../resources/budgets_in_force.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { BudgetStore } from "../../store/budget_store.ts";
import type { Events } from "../../store/events.ts";

/** The parts of the daemon that it uses. */
export interface BudgetChangesHost extends Core {
  readonly catalog: Catalog;
  readonly events: Events;
  readonly store: Pick<BudgetStore, "askBudgetsAgain">;
}

/** Follows the catalog until it is disposed. */
export function followBudgets(host: BudgetChangesHost): Disposable {
  let before = byProject(host.catalog);
  return host.events.on("resourcesChanged", () => {
    const now = byProject(host.catalog);
    const changed = [...new Set([...before.keys(), ...now.keys()])]
      .filter((project) => before.get(project) !== now.get(project));
    before = now;
    for (const project of changed) {
      host.store.askBudgetsAgain(project, host.clock.now()).catch((error) =>
        // they go on when the window ends
        host.log.error("steps that wait for a budget could not be told of its change", { error })
      );
    }
  });
}

/** What there is of budgets in each project, as a text that can be compared. */
function byProject(catalog: Catalog): ReadonlyMap<string, string> {
  // at one moment, so that windows make no difference
  const all = Map.groupBy(allBudgets(catalog, 0), ({ project }) => project);
  return new Map([...all].map(([project, budgets]) => [project, JSON.stringify(budgets)]));
}
