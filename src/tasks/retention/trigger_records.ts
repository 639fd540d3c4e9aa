/**
 * Retention of the tasks and deliveries of single triggers, which have a shorter time than others:
 * their oldest records are looked at page by page, up to the first that is too young.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { OfTrigger, PruneResult, RetentionStore } from "../../store/retention_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { Ages } from "./limits.ts";

/** What going through single triggers needs. */
export interface TriggerRecordsHost {
  readonly store: RetentionStore & TaskStore & DeliveryStore;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Records that are looked at, and at most removed, in one transaction. */
const PAGE_SIZE = 50;
/** Pause between two pages. */
const PAUSE_MS = 12;

/** Each trigger whose time is shorter than the longest, with from before when its records go. */
export async function triggersToPrune(
  { shorter, others }: Ages,
  { store, clock }: Pick<TriggerRecordsHost, "store" | "clock">,
): Promise<readonly (OfTrigger & { readonly before: number })[]> {
  const now = clock.now();
  const own = shorter.map(({ ms, ...of }) => ({ ...of, before: now - ms }));
  if (others === undefined) return own;
  const named = new Set(others.but.map(keyOf));
  const rest = (await store.listRecordTriggers()).filter((one) => !named.has(keyOf(one)));
  return [...own, ...rest.map((of) => ({ ...of, before: now - others.ms }))];
}

/** Names a trigger in a set. */
export const keyOf = ({ project, trigger }: OfTrigger): string => `${project}\n${trigger}`;

/** A trigger, and from before when its tasks and its deliveries go, in milliseconds. */
export interface PrunedTrigger extends OfTrigger {
  readonly before: number;
  readonly deliveriesBefore: number;
}

/** Yields what was removed, page by page. */
export async function* pruneTrigger(
  { before, deliveriesBefore, ...of }: PrunedTrigger,
  host: TriggerRecordsHost,
): AsyncGenerator<PruneResult> {
  const { store } = host;
  const range = { ...of, limit: PAGE_SIZE, oldestFirst: true };
  const oldTasks = async (after: After) =>
    (await store.listTasks({ ...range, ...after })).filter((one) => one.createdAt < before);
  const oldDeliveries = async (after: After) =>
    (await store.listDeliveries({ ...range, ...after }))
      .filter((one) => one.receivedAt < deliveriesBefore);
  for await (const tasks of pagesOf(oldTasks, host)) {
    yield await store.pruneRecords({ tasks, deliveries: [], before });
  }
  for await (const deliveries of pagesOf(oldDeliveries, host)) {
    yield await store.pruneRecords({ tasks: [], deliveries, before: deliveriesBefore });
  }
}

/** Where a page begins: behind a record, or with the oldest. */
type After = { readonly after?: string };

/** Ids of records, page by page, up to the first page that is not full. */
async function* pagesOf(
  read: (after: After) => Promise<readonly { readonly id: string }[]>,
  { clock, signal }: TriggerRecordsHost,
): AsyncGenerator<readonly string[]> {
  for (let after: After = {}; !signal.aborted;) {
    const ids = (await read(after)).map(({ id }) => id);
    const last = ids.at(-1);
    if (last === undefined) return;
    yield ids;
    if (ids.length < PAGE_SIZE) return;
    await clock.pause(PAUSE_MS, signal);
    after = { after: last };
  }
}
