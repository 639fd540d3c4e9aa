/**
 * How long the key of an event makes later ones duplicates: a day, and where a Connection reads its
 * platform's log of deliveries, as long as that log reaches back and a day more, because what is
 * sent again out of it may be that old. Pure over the catalog.
 *
 * @module
 */

import type { Catalog } from "./catalog.ts";
import { type ConnectionSpec, logReachMs } from "./connection.ts";
import { endpointKey } from "./endpoints.ts";

/** A day: platforms repeat by themselves for hours. */
const WINDOW_MS = 24 * 3600 * 1000;

/** How long the keys of events count, and how long they are kept, both in milliseconds. */
export interface DedupTimes {
  /** A key makes later events of its trigger duplicates for so long. */
  readonly dedupWindowMs: number;
  /** No key that is younger is removed; at least the longest window of any trigger. */
  readonly dedupKeepMs: number;
}

/** The times of the endpoints of which a log is read, and of all others. */
export interface KnownDedupTimes {
  /** By {@linkcode endpointKey}. */
  readonly logged: ReadonlyMap<string, DedupTimes>;
  readonly others: DedupTimes;
}

/** The times of all endpoints. */
export function dedupTimesIn(catalog: Catalog): KnownDedupTimes {
  const windows = new Map<string, number>();
  for (const { project, spec } of catalog.list("Connection")) {
    const reach = logReachMs(spec as ConnectionSpec);
    if (reach === undefined) continue;
    for (const { endpoint } of (spec as ConnectionSpec).github?.hooks ?? []) {
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
