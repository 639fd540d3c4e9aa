/**
 * What happened to a delivery in one sentence, and what would change it. Pure.
 *
 * @module
 */

import type { Explanation } from "../../../../src/api/delivery_operations.ts";

/** The first thing that the screen of a delivery says. */
export interface Verdict {
  readonly tone: "good" | "bad" | "plain";
  /** What happened. */
  readonly what: string;
  /** What would have made another outcome of it, and what to do next; likeliest first. */
  readonly change: readonly Change[];
}

/** One thing that would change it. */
export interface Change {
  readonly text: string;
  /** The command that does it. */
  readonly command?: string;
}

type Part = Explanation["events"][number]["parts"][number];

/** The verdict on a delivery. */
export function verdictOf(found: Explanation): Verdict {
  const { delivery, diagnoses, advice } = found;
  const change = [
    ...diagnoses.map(({ message }) => ({ text: `It would pass: ${message}` })),
    ...advice.map(toChange),
  ];
  switch (delivery.outcome) {
    case "accepted":
      return { tone: "good", what: acceptedAs(found), change };
    case "filtered":
      return { tone: "plain", what: `Filtered: ${whyFiltered(found)}.`, change };
    case "rejected":
      return {
        tone: "bad",
        what: `Rejected${delivery.status === null ? "" : ` with ${delivery.status}`}: ${
          sentence(delivery.reason)
        }`,
        change: change.length > 0 ? change : changesOf(delivery.status),
      };
    case "duplicate":
      return {
        tone: "plain",
        what: "A duplicate: the same event had come before, and its task counts for both.",
        change: [...change, {
          text: "Sent again by hand, it is no duplicate and starts a task of its own.",
          command: `svc delivery redeliver ${delivery.id}`,
        }],
      };
    case "handshake":
      return {
        tone: "plain",
        what: "A handshake: its platform checked the address and was answered. It starts nothing.",
        change,
      };
    default:
      return {
        tone: "plain",
        what: `It started nothing: ${sentence(delivery.reason)}`,
        change,
      };
  }
}

/** A line of advice; what stands behind its last colon is a command where it begins as one. */
function toChange(line: string): Change {
  const [, text, command] = /^(.*:) (svc [^:]+)$/.exec(line) ?? [];
  return text === undefined || command === undefined ? { text: line } : { text, command };
}

function acceptedAs({ events, delivery }: Explanation): string {
  const started = events.filter(({ task_id }) => task_id !== null).length;
  if (started > 1) return `Accepted: ${started} of its ${events.length} events started a task.`;
  if (started === 0) return "Accepted.";
  return delivery.reason === ""
    ? "Accepted: it started a task."
    : `Accepted: it started a task. ${sentence(delivery.reason)}`;
}

/** The first part of the condition that was not true, and what it saw. */
function whyFiltered({ events, delivery }: Explanation): string {
  if (events.length > 1) return `none of its ${events.length} events passes the condition`;
  const part = events.flatMap(({ parts }) => parts).find(({ value }) => value !== "true");
  if (part === undefined) return delivery.reason;
  const result = part.value === undefined ? `failed (${part.error})` : `is ${part.value}`;
  return `${part.expression} ${result}${sawText(part)}`;
}

function sawText({ saw }: Part): string {
  const seen = Object.entries(saw).map(([field, value]) => `${field} is ${value}`);
  return seen.length === 0 ? "" : `, where ${seen.join(" and ")}`;
}

/** A reason as a sentence of its own. */
function sentence(reason: string): string {
  if (reason === "") return "no reason was given.";
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}

/** What would change a refusal that the daemon has no advice for. */
function changesOf(status: number | null): readonly Change[] {
  const text = STATUS_CHANGES[status ?? 0];
  return text === undefined ? [] : [{ text }];
}

const STATUS_CHANGES: Readonly<Record<number, string>> = {
  400: "The request itself is at fault: its sender has to send another one.",
  403: "It would pass from an address that spec.event.webhook.allowFrom of the trigger names.",
  408: "It would pass when all of its body arrived in time: look at the way from its sender.",
  413: "It would pass with a smaller body, or a daemon that takes larger ones.",
  415: "It would pass as JSON or as a form, without a Content-Encoding that is not known.",
  429: "It would pass below the rate of the trigger: its sender was told to try again.",
  503: "It would pass when the daemon has less to do: its sender was told to try again.",
};
