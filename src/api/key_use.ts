/**
 * The last use of a key of a SecretStore, and the sentence about it in every list, in the console and
 * in `svc delivery explain`. A match of an earlier value says nothing about the present value.
 *
 * ```ts
 * import { type KeyUseView, keyUseText } from "./key_use.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const use: KeyUseView = {
 *   last_matched_at: "2026-01-31T08:00:00.000Z",
 *   last_matched_value: "previous",
 *   changed_at: "2026-01-31T08:00:06.000Z",
 *   matched: 3,
 *   triggers: ["push"],
 * };
 * equal(
 *   keyUseText(use, Date.parse("2026-01-31T08:00:07Z")),
 *   "value changed 1s ago, not matched since; the value before it matched 7s ago",
 * );
 * ```
 *
 * @module
 */

import { shortDuration } from "../base/duration.ts";

/** One of `status.keys` of a SecretStore. */
export interface KeyUseView {
  /** When a signature last matched it, whichever value it had then; RFC 3339, `null` for never. */
  readonly last_matched_at: string | null;
  /** Which value that was: the current, the previous, or an older one; `null` if unknown. */
  readonly last_matched_value: "current" | "previous" | "earlier" | null;
  /** When its value was last set; `null` if that was not kept. */
  readonly changed_at: string | null;
  /** How many deliveries it verified, with any of its values. */
  readonly matched: number;
  /** Names of the triggers whose deliveries it verified. */
  readonly triggers: readonly string[];
  /** Why it can be removed; absent if it cannot. */
  readonly note?: string;
}

/** When a key last matched, and whether that was the value that it has; no sentence of its own. */
export function keyUseText(
  { last_matched_at: last, last_matched_value: which, changed_at: changed }:
    & Partial<Pick<KeyUseView, "last_matched_value" | "changed_at">>
    & Pick<KeyUseView, "last_matched_at">,
  now: number,
): string {
  const ago = (at: string) => `${shortDuration(Math.max(0, now - Date.parse(at)))} ago`;
  if (last === null) {
    return typeof changed === "string" ? `never matched, set ${ago(changed)}` : "never matched";
  }
  if (typeof changed !== "string" || (which !== "previous" && which !== "earlier")) {
    return `last matched ${ago(last)}`;
  }
  const older = which === "previous" ? "the value before it" : "an earlier value";
  return `value changed ${ago(changed)}, not matched since; ${older} matched ${ago(last)}`;
}
