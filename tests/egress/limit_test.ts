/**
 * Limits that an API answers with, and when they end.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { latin1Bytes } from "../../src/base/bytes.ts";
import { parseAnswerHead } from "../../src/egress/head.ts";
import { limitOf } from "../../src/egress/limit.ts";

const NOW = Date.UTC(2026, 0, 1);
const DAY = 24 * 3600;

function limit(status: number, ...headers: readonly string[]) {
  const text = [`HTTP/1.1 ${status} X`, ...headers, "", ""].join("\r\n");
  return limitOf(parseAnswerHead(latin1Bytes(text)), "https://a.example", NOW);
}

/** Headers of a 429, and the seconds until its end. */
const RESETS: readonly (readonly [headers: readonly string[], seconds: number | undefined])[] = [
  [[], undefined],
  [["Retry-After: 17"], 17],
  [["retry-after: 0"], 0],
  [["Retry-After: 1.5"], 1.5],
  [["Retry-After-Ms: 250", "Retry-After: 17"], 0.25],
  [["Retry-After: Thu, 01 Jan 2026 00:00:30 GMT"], 30],
  [["Retry-After: Wed, 31 Dec 2025 00:00:30 GMT"], 0],
  [["Retry-After: soon"], undefined],
  [["Retry-After: -5"], undefined],
  [["Retry-After: 99999999999"], 8 * DAY],
  [[`anthropic-ratelimit-unified-reset: ${NOW / 1000 + 5 * 3600}`], 5 * 3600],
  [["anthropic-ratelimit-requests-reset: 2026-01-01T00:01:00Z"], 60],
  [
    [
      "anthropic-ratelimit-requests-remaining: 12",
      "anthropic-ratelimit-requests-reset: 2026-01-01T00:05:00Z",
      "anthropic-ratelimit-tokens-remaining: 0",
      "anthropic-ratelimit-tokens-reset: 2026-01-01T00:00:40Z",
    ],
    40,
  ],
  [["anthropic-ratelimit-tokens-reset: tomorrow"], undefined],
];

for (const [headers, seconds] of RESETS) {
  Deno.test(`429 with ${headers.join(", ") || "nothing"} ends ${seconds ?? "at no time"}`, () => {
    equal(
      limit(429, ...headers)?.resetsAt,
      seconds === undefined ? undefined : NOW + seconds * 1000,
    );
  });
}

Deno.test("429 and 529 are limits, other answers are none", () => {
  deepEqual(limit(429), { origin: "https://a.example", status: 429, at: NOW });
  equal(limit(529)?.status, 529);
  for (const status of [200, 401, 403, 500, 503]) {
    equal(limit(status, "Retry-After: 17"), undefined);
  }
});
