/**
 * How long the tasks and bodies of each trigger are kept: as its `spec.retention` says, else as the
 * settings of the daemon say. Pure over the catalog.
 *
 * @module
 */

import { findDurationSecs } from "../../base/duration.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { TriggerKey } from "../../store/retention_store.ts";

/** The records that retention removes by age: tasks with their deliveries, or bodies alone. */
export type RetentionSubject = "tasks" | "bodies";

/** The time for which all triggers keep something, and the triggers that have a shorter one. */
export interface Ages {
  /** Longest time that any trigger has, in milliseconds; absent where one keeps for ever. */
  readonly longestMs?: number;
  /** Triggers of the catalog with a shorter time. */
  readonly shorter: readonly (TriggerKey & { readonly ms: number })[];
  /**
   * The setting of the daemon, where some trigger has a longer time. It holds for all triggers but
   * those in `but`, also for triggers that no longer exist.
   */
  readonly others?: { readonly ms: number; readonly but: readonly TriggerKey[] };
}

/**
 * The ages at which the records of all triggers are removed. Records older than the longest age are
 * removed whichever their trigger is, so only triggers with a shorter one are gone through one by one.
 *
 * @param defaultMs The setting of the daemon; 0 for ever.
 */
export function agesOf(subject: RetentionSubject, defaultMs: number, catalog: Catalog): Ages {
  const own = catalog.list("Trigger").flatMap(({ project, name, spec }) => {
    const secs = findDurationSecs((spec as TriggerSpec).retention?.[subject] ?? "");
    return secs === undefined ? [] : [{ project, trigger: name, ms: secs * 1000 }];
  });
  if (defaultMs === 0) return { shorter: own };
  const longestMs = Math.max(defaultMs, ...own.map(({ ms }) => ms));
  const shorter = own.filter(({ ms }) => ms < longestMs);
  if (defaultMs === longestMs) return { longestMs, shorter };
  return { longestMs, shorter, others: { ms: defaultMs, but: own } };
}

/** The shortest of all ages in milliseconds; `Infinity` where everything is kept for ever. */
export function shortestOf(...all: readonly Ages[]): number {
  return Math.min(
    ...all.flatMap(({ longestMs = Infinity, others, shorter }) => [
      longestMs,
      others?.ms ?? Infinity,
      ...shorter.map(({ ms }) => ms),
    ]),
  );
}
