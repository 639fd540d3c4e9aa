/**
 * How a run of an agent failed: what kind of failure it is, by the status of the API's answer or else
 * by the agent's words, and when a limit resets.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { oneLine } from "./readable.ts";

/** The kinds of failure. Another agent can help against `limit` and `auth`. */
export const FAILURE_KINDS = ["limit", "auth", "budget", "error", "timeout"] as const;

/** One of {@linkcode FAILURE_KINDS}. */
export type FailureKind = typeof FAILURE_KINDS[number];

/** A failure that an agent reported. */
export interface AgentFailure {
  readonly kind: FailureKind;
  /** The agent's own sentence, on one line; empty if it gave none. */
  readonly message: string;
  /** When a limit ends, in milliseconds since the epoch; absent if the agent does not say. */
  readonly resetsAt?: number;
}

/** Longest sentence that is kept, in characters. */
const MAX_MESSAGE = 500;
const DAY_MS = 86_400_000;
/** An agent that says that its limit ends later than this is not believed. */
const MAX_RESET_MS = 32 * DAY_MS;

const LIMIT_WORDS = new RegExp(
  [
    String.raw`\b(rate|usage|session|daily|weekly|monthly|request|token|spend(ing)?)[ _-]?limit`,
    String.raw`\blimit (has been )?(reached|exceeded)`,
    String.raw`hit your (\w+ )?limit`,
    "too many requests",
    "resource[ _]?(has been )?exhausted",
    "quota",
    "credit balance is too low",
    "out of credits",
    String.raw`\b429\b`,
    "overloaded",
  ].join("|"),
  "i",
);

const AUTH_WORDS = new RegExp(
  [
    "not logged in",
    "log ?in again",
    String.raw`please (run|use) \S*login`,
    "not authenticated",
    String.raw`\bunauthorized\b`,
    String.raw`\bunauthenticated\b`,
    "authentication",
    String.raw`(invalid|incorrect|missing|no|expired) (x-)?(api[ _-]?)?(key|token|credentials)`,
    String.raw`api[ _-]?key (is |was )?(not|missing|invalid|expired)`,
    String.raw`set an auth method`,
    String.raw`\b401\b`,
  ].join("|"),
  "i",
);

/** The kind of failure that an HTTP status stands for; `undefined` for any other status. */
export function kindOfStatus(status: unknown): FailureKind | undefined {
  if (status === 429 || status === 529 || status === 402) return "limit";
  return status === 401 || status === 403 ? "auth" : undefined;
}

/** The kind of failure of a sentence. */
export function kindOfMessage(message: string): FailureKind {
  if (LIMIT_WORDS.test(message)) return "limit";
  return AUTH_WORDS.test(message) ? "auth" : "error";
}

/**
 * A failure with this sentence. `status` is that of the API's answer, if the agent names it. `resetsAt`
 * in milliseconds since the epoch takes precedence over what the sentence says.
 */
export function failureOf(
  sentence: string,
  { kind, status, resetsAt, now }: {
    readonly kind?: FailureKind | undefined;
    readonly status?: unknown;
    readonly resetsAt?: number | undefined;
    readonly now: number;
  },
): AgentFailure {
  const message = oneLine(sentence, MAX_MESSAGE);
  const found = kind ?? kindOfStatus(status) ?? kindOfMessage(message);
  const reset = found === "limit" ? resetsAt ?? findReset(message, now) : undefined;
  const isLikely = reset !== undefined && reset > now && reset < now + MAX_RESET_MS;
  return { kind: found, message, ...(isLikely ? { resetsAt: Math.round(reset) } : {}) };
}

/** When a limit ends, as sentences of agents say it; `undefined` if this one does not. */
export function findReset(message: string, now: number): number | undefined {
  const seconds = /\blimit reached\|(\d{10})\b/.exec(message)?.[1];
  if (seconds !== undefined) return Number(seconds) * 1000;
  const wait = /(?:try again|retry|resets?) in ((?:\d+(?:\.\d+)? ?[a-z]+[ ,]*)+)/i.exec(message);
  if (wait?.[1] !== undefined) return now + waitMs(wait[1]);
  const at = /(?:try again|resets?) at ([^.;()]{4,60})/i.exec(message)?.[1];
  return at === undefined ? undefined : timeOf(at, now);
}

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^d(ays?)?$/i, DAY_MS],
  [/^h(ours?|rs?)?$/i, 3_600_000],
  [/^m(in(ute)?s?)?$/i, 60_000],
  [/^s(ec(ond)?s?)?$/i, 1000],
  [/^ms$/i, 1],
];

/** `2 days 3 hours 4 minutes`, `6m0s` or `20.5s` in milliseconds. */
function waitMs(text: string): number {
  let ms = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?) ?([a-z]+)/gi)) {
    ms += Number(number) * (UNITS.find(([name]) => name.test(unit ?? ""))?.[1] ?? 0);
  }
  return ms;
}

/** `Nov 27th, 2026 3:04 PM`, or the next `3:04 PM`, in the time zone of the machine. */
function timeOf(text: string, now: number): number | undefined {
  const plain = text.trim().replace(/(\d)(st|nd|rd|th)\b/i, "$1");
  const clock = /^\d{1,2}:\d{2}(:\d{2})?( ?[ap]m)?/i.exec(plain)?.[0];
  if (clock === undefined) {
    const at = Date.parse(plain);
    return Number.isNaN(at) ? undefined : at;
  }
  const [day] = rfc3339(now).split("T");
  const today = Date.parse(`${day} ${clock.replace(/(\d)([ap]m)/i, "$1 $2")}`);
  if (Number.isNaN(today)) return undefined;
  return today - DAY_MS > now ? today - DAY_MS : today > now ? today : today + DAY_MS;
}
