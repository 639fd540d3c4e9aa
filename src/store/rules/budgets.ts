/**
 * Budgets of agents: whether a run of an agent may begin, what it counts as when it has ended, and when
 * people are told. What a run is expected to use (`perRun`) is set aside while it works, so a budget
 * bounds how many runs begin, and no two of them begin with the same rest.
 *
 * @module
 */

import type { TimeSpan } from "../../base/calendar.ts";
import type { AskedBudget, BudgetKey, RunUsage, Spend } from "../budget_records.ts";

/** What is stored of a budget: its newest window. */
export interface StoredSpend extends Spend {
  /** The percentage that people were last told of in it; 0 if of none. */
  readonly told: number;
}

/** What is set aside for a run in one budget. */
export interface Reservation extends BudgetKey {
  /** Beginning of the window in which the run began. */
  readonly startsAt: number;
  readonly perRun: number;
  readonly limit: number;
}

/** The percentage of a budget of which people are told. */
const TELL_AT = 80;

/** Whether two keys name one budget. */
export function isSameBudget(a: BudgetKey, b: BudgetKey): boolean {
  return a.scope === b.scope && a.unit === b.unit && a.per === b.per;
}

/**
 * A budget in the window that counts now. A window that has begun is kept to its end: also if the time
 * zone is changed meanwhile, or the clock is set back, so that nobody gets a window twice. One that is
 * more than its length ahead is none: the clock was wrong when it began.
 */
export function newestSpend(
  key: BudgetKey,
  { stored, window, now }: {
    readonly stored?: StoredSpend | undefined;
    readonly window: TimeSpan;
    readonly now: number;
  },
): StoredSpend {
  if (stored !== undefined && isKept(stored.window, now)) return stored;
  const { scope, unit, per } = key;
  return { scope, unit, per, window, spent: 0, unknown: 0, told: 0 };
}

function isKept({ startsAt, endsAt }: TimeSpan, now: number): boolean {
  return now < endsAt && startsAt - now <= endsAt - startsAt;
}

/** What is set aside in the window of a budget. */
export function reservedIn(
  spend: Spend,
  reservations: readonly Reservation[],
): { readonly reserved: number; readonly running: number } {
  const those = reservations.filter((one) =>
    isSameBudget(one, spend) && one.startsAt === spend.window.startsAt
  );
  return {
    reserved: those.reduce((sum, { perRun }) => sum + perRun, 0),
    running: those.length,
  };
}

/** Whether a budget has room for another run. */
export function hasRoom(
  { limit, perRun }: Pick<AskedBudget, "limit" | "perRun">,
  { spent, reserved }: { readonly spent: number; readonly reserved: number },
): boolean {
  return spent + reserved + perRun <= limit;
}

/**
 * The budget for which a step waits: of those without room the one whose window ends last. A step fails
 * if one of them says so.
 */
export function decisiveBudget<Lacking extends { budget: AskedBudget; window: TimeSpan }>(
  lacking: readonly Lacking[],
): Lacking | undefined {
  const rank = ({ budget: { fails }, window: { endsAt } }: Lacking) => [Number(fails), endsAt];
  return lacking.toSorted((a, b) => {
    const [[failsA = 0, endA = 0], [failsB = 0, endB = 0]] = [rank(a), rank(b)];
    return failsB - failsA || endB - endA;
  })[0];
}

/**
 * A budget with a run that has ended. It counts where it began: a window that is over stays as it was.
 * What nobody knows counts as `perRun`, never as nothing.
 *
 * @param usage absent if the run never began.
 */
export function settled(
  spend: StoredSpend,
  { unit, perRun, startsAt }: Reservation,
  usage: RunUsage | undefined,
): StoredSpend {
  if (usage === undefined || startsAt !== spend.window.startsAt) return spend;
  const used = unit === "runs" ? 1 : usage[unit];
  const isKnown = used !== undefined && used >= 0;
  return {
    ...spend,
    spent: Math.min(spend.spent + (isKnown ? used : perRun), Number.MAX_SAFE_INTEGER),
    unknown: spend.unknown + (isKnown ? 0 : 1),
  };
}

/** Whether so much is used up that people are told, who were not told in this window. */
export function isNearEnd({ spent, told }: StoredSpend, limit: number): boolean {
  return told < TELL_AT && spent * 100 >= limit * TELL_AT;
}
