/**
 * Counts the events of the day before the start, from the store. It reads a page of rows at a time,
 * with pauses, so that other calls of the store do not wait.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import type { Delivery } from "../store/delivery_records.ts";
import type { DeliveryStore } from "../store/delivery_store.ts";
import type { TriggerKey } from "../store/retention_store.ts";
import type { Task } from "../store/task_records.ts";
import type { TaskStore } from "../store/task_store.ts";
import { KEPT_MINUTES } from "./minute_series.ts";
import type { Minutes } from "./minutes.ts";

/** Lists the rows that are counted. */
export type CountedRows = Pick<DeliveryStore, "listDeliveries"> & Pick<TaskStore, "listTasks">;

const MINUTE_MS = 60_000;
/** Time after the start in which the daemon has other work. */
const FIRST_MS = 2000;
/** Rows read at once; it takes about two milliseconds, for which a request may have to wait. */
const PAGE_SIZE = 100;
const PAUSE_MS = 25;
/** Most deliveries, and most tasks, to read. */
const MOST_ROWS = 100_000;

/** Events by the minute in which they happened. */
type ByMinute<Thing> = Map<number, Thing[]>;

/** Reads and counts until it is done, or `signal` aborts; counts nothing if a read fails. */
export async function countEarlier(
  { store, minutes, clock }: { store: CountedRows; minutes: Minutes; clock: Clock },
  signal: AbortSignal,
  most: number = MOST_ROWS,
): Promise<void> {
  const until = minutes.since;
  const first = Math.floor(until / MINUTE_MS) - KEPT_MINUTES + 1;
  const isEarlier = (at: number | undefined): at is number => at !== undefined && at < until;
  const deliveries: ByMinute<TriggerKey & { outcome: string; tookMs?: number }> = new Map();
  const starts: ByMinute<TriggerKey & { tookMs: number }> = new Map();
  const ends: ByMinute<string> = new Map();
  await clock.pause(FIRST_MS, signal);
  const range = { first, most, clock, signal };
  const deliveriesFrom = await eachRow<Delivery>(
    (query) => store.listDeliveries(query),
    ({ receivedAt }) => receivedAt,
    ({ project, trigger, outcome, receivedAt, via, durationMs }) => {
      if (!isEarlier(receivedAt)) return;
      const tookMs = via === "internal" ? undefined : durationMs;
      put(deliveries, receivedAt, { project, trigger, outcome, ...defined({ tookMs }) });
    },
    range,
  );
  const tasksFrom = await eachRow<Task>(
    (query) => store.listTasks(query),
    ({ createdAt }) => createdAt,
    ({ project, trigger, state, createdAt, startedAt, finishedAt, restarts }) => {
      if (isEarlier(startedAt) && restarts === 0) {
        put(starts, startedAt, { project, trigger, tookMs: startedAt - createdAt });
      }
      if (isEarlier(finishedAt)) put(ends, finishedAt, state);
    },
    range,
  );
  if (signal.aborted) return;
  const from = Math.max(deliveriesFrom, tasksFrom);
  for (let minute = Math.floor(until / MINUTE_MS); minute >= from; minute--) {
    minutes.earlier(minute, {
      deliveries: deliveries.get(minute) ?? [],
      starts: starts.get(minute) ?? [],
      ends: ends.get(minute) ?? [],
    });
    if (minute % 10 === 0) await clock.pause(PAUSE_MS, signal);
    if (signal.aborted) return;
  }
  minutes.countedFrom(from * MINUTE_MS);
}

/** Gives `take` the rows from minute `first` on, newest first; returns the first complete minute. */
async function eachRow<Row extends { readonly id: string }>(
  list: (query: { readonly limit: number; readonly before?: string }) => Promise<Row[]>,
  timeOf: (row: Row) => number,
  take: (row: Row) => void,
  { first, most, clock, signal }: {
    readonly first: number;
    readonly most: number;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  let before: string | undefined;
  for (let read = 0; !signal.aborted;) {
    const page = await list({ limit: PAGE_SIZE, ...defined({ before }) });
    page.forEach(take);
    before = page.at(-1)?.id;
    read += page.length;
    // Rows come in the order of ids, which is nearly that of time: the newest of the page counts.
    const newest = Math.floor(Math.max(...page.map(timeOf)) / MINUTE_MS);
    if (page.length < PAGE_SIZE || newest < first) return first;
    if (read >= most) return Math.max(first, newest + 1);
    await clock.pause(PAUSE_MS, signal);
  }
  return Infinity;
}

function put<Thing>(things: ByMinute<Thing>, at: number, thing: Thing): void {
  const minute = Math.floor(at / MINUTE_MS);
  const ofMinute = things.get(minute);
  if (ofMinute === undefined) things.set(minute, [thing]);
  else ofMinute.push(thing);
}
