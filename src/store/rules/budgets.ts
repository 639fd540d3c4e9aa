/**
 * Budgets of agents: whether a run of an agent may begin, what it counts as when it has ended, and when
 * people are told. What a run is expected to use (`perRun`) is set aside while it works, so a budget
 * bounds how many runs begin, and no two of them begin with the same rest.
 *
 * @module
 */

import type { TimeSpan } from "../../base/calendar.ts";
import type { AskedBudget, AskedMore, BudgetKey, RunUsage, Spend } from "../budget_records.ts";
import type { EndedWait } from "../wait_records.ts";
import { howDecided } from "./approvals.ts";

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
  return { scope, unit, per, window, spent: 0, unknown: 0, granted: 0, told: 0 };
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
  { spent, reserved, granted = 0 }: {
    readonly spent: number;
    readonly reserved: number;
    readonly granted?: number;
  },
): boolean {
  return spent + reserved + perRun <= limit + granted;
}

/** What a step does for which a budget has no room. Listed in the order in which the budgets decide. */
const WITHOUT_ROOM = ["fails", "waits", "asks"] as const;
/** One of {@linkcode WITHOUT_ROOM}. */
export type WithoutRoom = typeof WITHOUT_ROOM[number];

/**
 * What a step does for which this budget has no room. People are asked when it is used up, once for all
 * steps; not while runs that work may give back some of what is set aside for them. Once they have not
 * allowed more, that holds for the window.
 */
export function withoutRoom(
  { fails, asks, limit, perRun }: Pick<AskedBudget, "fails" | "asks" | "limit" | "perRun">,
  { spent, granted, refused }: Pick<Spend, "spent" | "granted" | "refused">,
  isAsked: boolean,
): WithoutRoom {
  if (fails || asks !== undefined && refused !== undefined) return "fails";
  const isUsedUp = !hasRoom({ limit, perRun }, { spent, granted, reserved: 0 });
  return asks !== undefined && isUsedUp && !isAsked ? "asks" : "waits";
}

/**
 * The budget that decides what a step does: of those without room, one for which it fails, else one for
 * which it waits, and only then one of which it asks for more; of those the one whose window ends last.
 */
export function decisiveBudget<Lacking extends { does: WithoutRoom; window: TimeSpan }>(
  lacking: readonly Lacking[],
): Lacking | undefined {
  const rank = ({ does }: Lacking) => WITHOUT_ROOM.indexOf(does);
  return lacking.toSorted((a, b) => rank(a) - rank(b) || b.window.endsAt - a.window.endsAt)[0];
}

/** Whether both ask for the same, of the same people. */
export function isSameQuestion(a: AskedMore, b: AskedMore): boolean {
  return isSameBudget(a, b) && a.startsAt === b.startsAt && a.amount === b.amount &&
    a.granted === b.granted && a.by.join() === b.by.join();
}

/**
 * A budget of which people were asked for more, when that is over: only a yes of theirs lets more be used.
 * What ended for another reason has decided nothing.
 */
export function answered(spend: StoredSpend, { amount }: AskedMore, end: EndedWait): StoredSpend {
  if (end.by === "time") return { ...spend, refused: "nobody has allowed more in time" };
  if (end.by !== "answer") return spend;
  if (end.answer === "rejected") return { ...spend, refused: `more was ${howDecided(end)}` };
  const granted = Math.min(spend.granted + amount, Number.MAX_SAFE_INTEGER);
  return { ...spend, granted, told: 0 };
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
