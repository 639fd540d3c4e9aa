/**
 * How long the key of an event makes later events duplicates: a day. Events out of a platform's log
 * of deliveries may be as old as that log reaches back, so where a Connection reads the log, the
 * key counts for that time and a day more. Pure over the catalog.
 *
 * @module
 */

import type { Catalog } from "./catalog.ts";
import { type ConnectionSpec, hooksOf, logReachMs } from "./connection.ts";
import { endpointKey } from "./endpoints.ts";

/** A day, because platforms repeat a failed delivery for hours. */
const WINDOW_MS = 24 * 3600 * 1000;

/** How long the keys of events count, and how long they are kept, both in milliseconds. */
export interface DedupTimes {
  /** Time in which a key makes later events of its trigger duplicates. */
  readonly dedupWindowMs: number;
  /** Age below which no key is removed; at least the longest window of any trigger. */
  readonly dedupKeepMs: number;
}

/** The times of the endpoints whose platform's log is read, and of all others. */
export interface EndpointDedupTimes {
  /** The times of the endpoints whose log is read, by {@linkcode endpointKey}. */
  readonly logged: ReadonlyMap<string, DedupTimes>;
  readonly others: DedupTimes;
}

/** The times of all endpoints. */
export function dedupTimesIn(catalog: Catalog): EndpointDedupTimes {
  const windows = new Map<string, number>();
  for (const { project, spec } of catalog.list("Connection")) {
    const reach = logReachMs(spec as ConnectionSpec);
    if (reach === undefined) continue;
    for (const { endpoint } of hooksOf(spec as ConnectionSpec)) {
      const key = endpointKey({ project, name: endpoint });
      windows.set(key, Math.max(windows.get(key) ?? 0, reach + WINDOW_MS));
    }
  }
  const dedupKeepMs = Math.max(WINDOW_MS, ...windows.values());
  const logged = [...windows].map(([key, dedupWindowMs]) =>
    [key, { dedupWindowMs, dedupKeepMs }] as const
  );
  return { logged: new Map(logged), others: { dedupWindowMs: WINDOW_MS, dedupKeepMs } };
}
