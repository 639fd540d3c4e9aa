/**
 * The limits that an API says a step has reached: an answer of 429 or 529, and when to come back. Pure.
 *
 * @module
 */

import { type AnswerHead, valuesOf } from "./head.ts";

/** A limit that an API answered with. */
export interface Limit {
  /** Scheme, host and port of the API. */
  readonly origin: string;
  /** 429: the limit of this key; 529: the API is overloaded. */
  readonly status: 429 | 529;
  /** Milliseconds since the epoch of the answer. */
  readonly at: number;
  /** Milliseconds since the epoch from which on it may be tried again; absent if the API does not say. */
  readonly resetsAt?: number;
}

/** Longest wait that is believed: weekly limits exist, and a wrong date must not stop work for a year. */
const MAX_WAIT_MS = 8 * 24 * 3600 * 1000;

/** The headers with which APIs name the end of a limit, beside `retry-after`. */
const ANTHROPIC = "anthropic-ratelimit-";

/** The limit that an answer tells; `undefined` for any other answer. */
export function limitOf(head: AnswerHead, origin: string, now: number): Limit | undefined {
  const { status } = head;
  if (status !== 429 && status !== 529) return undefined;
  const resetsAt = resetOf(head, now);
  return { origin, status, at: now, ...resetsAt === undefined ? {} : { resetsAt } };
}

function resetOf(head: AnswerHead, now: number): number | undefined {
  const first = (name: string) => valuesOf(head, name)[0] ?? "";
  const millis = number(first("retry-after-ms"));
  if (millis !== undefined) return believed(now + millis, now);
  const after = first("retry-after");
  const seconds = number(after);
  if (seconds !== undefined) return believed(now + seconds * 1000, now);
  const date = dateOf(after);
  if (date !== undefined) return believed(date, now);
  const unified = number(first(`${ANTHROPIC}unified-reset`));
  if (unified !== undefined) return believed(unified * 1000, now);
  // Each of its limits has a header; the one that is used up resets last.
  const resets = head.headers.flatMap(({ name, value }) => {
    const lower = name.toLowerCase();
    if (!lower.startsWith(ANTHROPIC) || !lower.endsWith("-reset")) return [];
    const kind = lower.slice(ANTHROPIC.length, -"-reset".length);
    const isUsedUp = number(first(`${ANTHROPIC}${kind}-remaining`)) === 0;
    const at = dateOf(value);
    return at === undefined ? [] : [{ at, isUsedUp }];
  });
  const usedUp = resets.filter(({ isUsedUp }) => isUsedUp);
  const times = (usedUp.length > 0 ? usedUp : resets).map(({ at }) => at);
  return times.length === 0 ? undefined : believed(Math.max(...times), now);
}

function believed(at: number, now: number): number {
  return Math.min(Math.max(Math.ceil(at), now), now + MAX_WAIT_MS);
}

function number(text: string): number | undefined {
  return /^[0-9]{1,15}(\.[0-9]{1,9})?$/.test(text) ? Number(text) : undefined;
}

/** Checked before `Date.parse`, which makes a date of nearly any text. */
const DATE = /^([A-Z][a-z]{2,8}, .{1,40} GMT|\d{4}-\d\d-\d\dT[0-9:.]{5,20}(Z|[+-]\d\d:\d\d))$/;

function dateOf(text: string): number | undefined {
  const at = DATE.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? undefined : at;
}
