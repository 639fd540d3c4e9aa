/**
 * Times and lengths of time, as people read them.
 *
 * @module
 */

import { signal } from "@preact/signals";
import { shortDuration } from "../../../src/base/duration.ts";
import { ageOf } from "./age.ts";

/** The current time in milliseconds, set once a second while the page is visible. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** The time since `at`, with the full time as the title. */
export function Ago({ at, bare = false }: {
  readonly at: string | null;
  /** Whether to leave out "ago", in a column whose head says it. */
  readonly bare?: boolean;
}) {
  if (at === null) return <span class="faint">—</span>;
  const ms = Date.parse(at);
  const age = ageOf(now.value - ms); // below zero if the daemon's clock is ahead
  const said = age === "now" ? "just now" : `${age} ago`;
  return <time dateTime={at} title={FULL.format(ms)}>{bare ? age : said}</time>;
}

/** The time until `at`. */
export function Until({ at }: { readonly at: string }) {
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={FULL.format(ms)}>
      {ms > now.value ? `in ${shortDuration(ms - now.value)}` : "now"}
    </time>
  );
}

/** The time of day of `at`, with the full time as the title. */
export function Clock({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={FULL.format(Date.parse(at))}>{CLOCK.format(Date.parse(at))}</time>
  );
}

/** The time from `from` to `to`; to now if `to` is `null`. */
export function Took({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  if (from === null) return <span class="faint">—</span>;
  const end = to === null ? now.value : Date.parse(to);
  return <span>{shortDuration(Math.max(0, end - Date.parse(from)))}</span>;
}
