/**
 * Times and lengths of time, as people read them.
 *
 * @module
 */

import { signal } from "@preact/signals";
import { shortDuration } from "../../../src/base/duration.ts";
import { ageOf } from "./age.ts";

/** The time, once a second while the page is shown. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** How long ago something was; the whole time as its title. */
export function Ago({ at, bare = false }: {
  readonly at: string | null;
  /** Whether it stands in a column that says what it is, so that "ago" goes without saying. */
  readonly bare?: boolean;
}) {
  if (at === null) return <span class="faint">—</span>;
  const ms = Date.parse(at);
  const age = ageOf(now.value - ms); // below zero where the daemon's clock is ahead
  const said = age === "now" ? "just now" : `${age} ago`;
  return <time dateTime={at} title={FULL.format(ms)}>{bare ? age : said}</time>;
}

/** How long it is until something. */
export function Until({ at }: { readonly at: string }) {
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={FULL.format(ms)}>
      {ms > now.value ? `in ${shortDuration(ms - now.value)}` : "now"}
    </time>
  );
}

/** A time of the day. */
export function Clock({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={FULL.format(Date.parse(at))}>{CLOCK.format(Date.parse(at))}</time>
  );
}

/** How long something took; of what has not ended, how long it has taken so far. */
export function Took({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  if (from === null) return <span class="faint">—</span>;
  const end = to === null ? now.value : Date.parse(to);
  return <span>{shortDuration(Math.max(0, end - Date.parse(from)))}</span>;
}
