/**
 * How long events of chat platforms and the bindings of tasks are kept.
 *
 * @module
 */

import type { SourceEventState } from "../source_event_records.ts";

/** The facts of an event that retention decides by. */
export interface EventUse {
  readonly state: SourceEventState;
  /** Whether the task that the event started or went to is stored. */
  readonly hasTask: boolean;
  /**
   * Whether another task retries the one that its delivery started: that task answers in the same
   * thread.
   */
  readonly isRetried: boolean;
}

/** Whether an event of any age stays: it waits to be routed, or a task needs it. */
export function isEventNeeded({ state, hasTask, isRetried }: EventUse): boolean {
  return state === "received" || state === "routing" || hasTask || isRetried;
}

/** Whether a binding stays: a follow-up renews an old one, and a task needs its thread. */
export function isBindingNeeded(
  { updatedAt, hasTask }: { readonly updatedAt: number; readonly hasTask: boolean },
  before: number,
): boolean {
  return updatedAt >= before || hasTask;
}

/** How a page of rows is judged. Each table is gone through page after page, in rounds. */
export interface PruneWalk<Row> {
  /** Number of rows that a whole page has. */
  readonly pageSize: number;
  /** Most rows to remove, at least one. */
  readonly limit: number;
  /** Whether all later rows are too young as well, so that a round ends there. */
  readonly isYoung: (row: Row) => boolean;
  readonly isNeeded: (row: Row) => boolean;
}

/** The result of a page. */
export interface PrunedPage<Row> {
  readonly unneeded: readonly Row[];
  /** The row behind which the next call goes on; absent where it begins a new round. */
  readonly goOnBehind?: Row;
}

/** Which rows of a page are removed, and where the next call goes on. */
export function prunePage<Row>(page: readonly Row[], walk: PruneWalk<Row>): PrunedPage<Row> {
  const young = page.findIndex(walk.isYoung);
  const old = young === -1 ? page : page.slice(0, young);
  const unneeded: Row[] = [];
  let read = 0;
  for (const row of old) {
    if (unneeded.length === walk.limit) break;
    read++;
    if (!walk.isNeeded(row)) unneeded.push(row);
  }
  const last = old[read - 1];
  const isRoundOver = read === old.length && old.length < walk.pageSize;
  return { unneeded, ...(isRoundOver || last === undefined ? {} : { goOnBehind: last }) };
}
