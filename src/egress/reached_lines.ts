/**
 * What a step has reached, in words for the log of its task. Pure.
 *
 * ```ts
 * import { reachedLines } from "./reached_lines.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * const reached = {
 *   host: "https://api.example.com",
 *   way: "inject",
 *   requests: 3,
 *   refused: 0,
 *   failed: 0,
 *   sentBytes: 2048,
 *   receivedBytes: 700,
 *   statuses: { 200: 2, 429: 1 },
 *   firstAt: 0,
 *   lastAt: 0,
 *   tokens: { input: 90, output: 12, cacheRead: 0, cacheWrite: 0 },
 * } as const;
 * deepEqual(reachedLines([reached]), [
 *   "network: https://api.example.com: 3 requests, 2.0 KiB sent, 700 bytes received, " +
 *   "90 tokens in, 12 out; 1 answer was 429",
 * ]);
 * ```
 *
 * @module
 */

import { sizeText } from "../base/size.ts";
import { OTHERS, type Reached } from "./traffic.ts";

/** Most lines of one step. */
const MAX_LINES = 20;

/** A line for each host that answered or failed; none for what was only refused, which has its own. */
export function reachedLines(reached: readonly Reached[]): string[] {
  const told = reached.filter(({ requests }) => requests > 0);
  const lines = told.slice(0, MAX_LINES).map(lineOf);
  const more = told.length - lines.length;
  return more === 0 ? lines : [...lines, `network: ${count(more, "more host")}`];
}

function lineOf(
  { host, way, requests, failed, sentBytes, receivedBytes, statuses, tokens }: Reached,
): string {
  const refusals = Object.entries(statuses).filter(([status]) => Number(status) >= 400)
    .map(([status, times]) =>
      `${count(times, "answer")} ${times === 1 ? "was" : "were"} ${status}`
    );
  const facts = [
    count(requests, way === "tunnel" ? "connection" : "request"),
    `${sizeText(sentBytes)} sent`,
    `${sizeText(receivedBytes)} received`,
    ...tokens === undefined ? [] : [`${tokens.input} tokens in, ${tokens.output} out`],
  ].join(", ");
  const ends = failed === 0 ? refusals : [...refusals, `${failed} failed`];
  const name = host === OTHERS ? "other hosts" : host;
  return [`network: ${name}: ${facts}`, ...ends].join("; ");
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
