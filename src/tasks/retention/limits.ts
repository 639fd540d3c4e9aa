/**
 * How long what is kept, trigger by trigger: the settings of the daemon, and what a Trigger says of
 * itself (`spec.retention`). Pure over the catalog.
 *
 * @module
 */

import { findDurationSecs } from "../../base/duration.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { OfTrigger } from "../../store/retention_store.ts";

/** What retention removes by age: tasks with their deliveries, or bodies alone. */
export type Kept = "tasks" | "bodies";

/** One time for all triggers, and those that have a shorter one. */
export interface Ages {
  /** Longest time that any trigger has, in milliseconds; absent where one keeps for ever. */
  readonly longestMs?: number;
  /** Triggers of the catalog with a shorter one. */
  readonly shorter: readonly (OfTrigger & { readonly ms: number })[];
  /**
   * The setting, where it is shorter than what some trigger has: it is that of all triggers but
   * these, of those that are no more, too.
   */
  readonly others?: { readonly ms: number; readonly but: readonly OfTrigger[] };
}

/**
 * The times by which all triggers go. What is older than the longest is removed whosever it is, so
 * that only triggers with a shorter one have to be looked at one by one.
 *
 * @param defaultMs The setting of the daemon; 0 for ever.
 */
export function agesOf(kept: Kept, defaultMs: number, catalog: Catalog): Ages {
  const own = catalog.list("Trigger").flatMap(({ project, name, spec }) => {
    const secs = findDurationSecs((spec as TriggerSpec).retention?.[kept] ?? "");
    return secs === undefined ? [] : [{ project, trigger: name, ms: secs * 1000 }];
  });
  if (defaultMs === 0) return { shorter: own };
  const longestMs = Math.max(defaultMs, ...own.map(({ ms }) => ms));
  const shorter = own.filter(({ ms }) => ms < longestMs);
  const others = { ms: defaultMs, but: own };
  return { longestMs, shorter, ...(defaultMs < longestMs ? { others } : {}) };
}

/** The shortest of all times; none where everything is kept for ever. */
export function shortestOf(...all: readonly Ages[]): number {
  return Math.min(
    ...all.flatMap(({ longestMs = Infinity, others, shorter }) => [
      longestMs,
      others?.ms ?? Infinity,
      ...shorter.map(({ ms }) => ms),
    ]),
  );
}
