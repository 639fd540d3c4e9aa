/**
 * Retention of the tasks and deliveries of single triggers that have a shorter time than others: their
 * records are read page by page, the oldest first, up to the first that is too young.
 *
 * @module
 */

import type { PruneResult, TriggerKey } from "../../store/retention_store.ts";
import type { Ages } from "./limits.ts";
import type { RetentionHost } from "./retention_host.ts";

/** Records that one transaction reads, and removes if they are old. */
const PAGE_SIZE = 50;
/** Pause between two pages. */
const PAUSE_MS = 12;

/** Each trigger whose time is shorter than the longest, and the time before which its records are old. */
export async function triggersToPrune(
  { shorter, others }: Ages,
  { store, clock }: RetentionHost,
): Promise<readonly (TriggerKey & { readonly before: number })[]> {
  const now = clock.now();
  const own = shorter.map(({ ms, ...of }) => ({ ...of, before: now - ms }));
  if (others === undefined) return own;
  const named = new Set(others.but.map(keyOf));
  const rest = (await store.listRecordTriggers()).filter((one) => !named.has(keyOf(one)));
  return [...own, ...rest.map((of) => ({ ...of, before: now - others.ms }))];
}

/** Names a trigger in a set. */
export const keyOf = ({ project, trigger }: TriggerKey): string => `${project}\n${trigger}`;

/** A trigger, and the times before which its tasks and its deliveries are removed, in milliseconds. */
export interface PrunedTrigger extends TriggerKey {
  readonly before: number;
  readonly deliveriesBefore: number;
}

/** Yields the removed records, page by page. */
export async function* pruneTrigger(
  { before, deliveriesBefore, ...of }: PrunedTrigger,
  { store, clock }: RetentionHost,
  signal: AbortSignal,
): AsyncGenerator<PruneResult> {
  const pause = () => clock.pause(PAUSE_MS, signal);
  const range = { ...of, limit: PAGE_SIZE, oldestFirst: true };
  const oldTasks = async (after: After) =>
    (await store.listTasks({ ...range, ...after })).filter((one) => one.createdAt < before);
  const oldDeliveries = async (after: After) =>
    (await store.listDeliveries({ ...range, ...after }))
      .filter((one) => one.receivedAt < deliveriesBefore);
  for await (const tasks of pagesOf(oldTasks, pause, signal)) {
    yield await store.pruneRecords({ tasks, deliveries: [], before });
  }
  for await (const deliveries of pagesOf(oldDeliveries, pause, signal)) {
    yield await store.pruneRecords({ tasks: [], deliveries, before: deliveriesBefore });
  }
}

/** The id after which a page begins; absent for the page with the oldest record. */
type After = { readonly after?: string };

/** Ids of records, page by page, up to the first page that is not full. */
async function* pagesOf(
  read: (after: After) => Promise<readonly { readonly id: string }[]>,
  pause: () => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<readonly string[]> {
  for (let after: After = {}; !signal.aborted;) {
    const ids = (await read(after)).map(({ id }) => id);
    const last = ids.at(-1);
    if (last === undefined) return;
    yield ids;
    if (ids.length < PAGE_SIZE) return;
    await pause();
    after = { after: last };
  }
}
