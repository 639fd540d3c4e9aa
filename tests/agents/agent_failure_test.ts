/**
 * The kinds of failure that sentences of agents stand for, and the times at which limits end.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import {
  type FailureKind,
  failureOf,
  findReset,
  kindOfMessage,
} from "../../src/agents/agent_failure.ts";

const SENTENCES: readonly (readonly [string, FailureKind])[] = [
  ["You've hit your usage limit. Upgrade to Pro or try again at 3:04 PM.", "limit"],
  ["You've hit your limit · resets 3pm (Europe/Berlin)", "limit"],
  ["Claude AI usage limit reached|1764140000", "limit"],
  ["exceeded retry limit, last status: 429 Too Many Requests", "limit"],
  ["You exceeded your current quota, please check your plan", "limit"],
  ["RESOURCE_EXHAUSTED: Resource has been exhausted", "limit"],
  ["Your credit balance is too low to access the Anthropic API", "limit"],
  ["Overloaded", "limit"],
  ["Invalid API key · Please run /login", "auth"],
  ["Incorrect API key provided: sk-x", "auth"],
  ["unexpected status 401 Unauthorized", "auth"],
  ["OAuth token has expired. Please run `claude login`: not authenticated", "auth"],
  ["API key not valid. Please pass a valid API key.", "auth"],
  ["Error: No authentication information found.", "auth"],
  ["No conversation found with session ID: x", "error"],
  ["the build failed with 4290 errors in 401k lines", "error"],
  ["connection refused", "error"],
  ["", "error"],
];

for (const [sentence, kind] of SENTENCES) {
  Deno.test(`"${sentence}" is of kind ${kind}`, () => equal(kindOfMessage(sentence), kind));
}

const NOW = Date.UTC(2026, 10, 26, 8);
const MINUTE = 60_000;
const local = (text: string) => Date.parse(text);

const RESETS: readonly (readonly [string, number | undefined])[] = [
  ["limit reached|1795766400", 1_795_766_400_000],
  ["Please try again in 20s.", NOW + 20_000],
  ["Please try again in 1.5s.", NOW + 1500],
  ["try again in 6m0s", NOW + 6 * MINUTE],
  ["Try again in 5 days 21 hours 37 minutes.", NOW + ((5 * 24 + 21) * 60 + 37) * MINUTE],
  ["retry in 500ms", NOW + 500],
  ["try again at Nov 27th, 2026 3:04 PM.", local("Nov 27, 2026 3:04 PM")],
  ["try again later", undefined],
  ["try again at noon or so", undefined],
];

for (const [sentence, at] of RESETS) {
  Deno.test(`"${sentence}" says when the limit ends`, () => equal(findReset(sentence, NOW), at));
}

Deno.test("a time of day is the next one", () => {
  for (let hour = 0; hour < 24; hour++) {
    const now = NOW + hour * 60 * MINUTE;
    const at = findReset("try again at 3:04 PM.", now) ?? 0;
    equal(at > now && at <= now + 24 * 60 * MINUTE, true);
    equal((at - local("2026-11-26 3:04 PM")) % (24 * 60 * MINUTE), 0);
  }
});

Deno.test("an unlikely reset is not believed", () => {
  for (const resetsAt of [NOW - 1, NOW, NOW + 40 * 24 * 60 * MINUTE, 1e300, NaN]) {
    equal(failureOf("rate limit", { resetsAt, now: NOW }).resetsAt, undefined);
  }
  equal(failureOf("rate limit", { resetsAt: NOW + 5, now: NOW }).resetsAt, NOW + 5);
  equal(failureOf("broken", { kind: "error", resetsAt: NOW + 5, now: NOW }).resetsAt, undefined);
});
