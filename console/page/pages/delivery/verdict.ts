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
        what:
          "A duplicate: the same event had already arrived, so this delivery started no further task.",
        change: [...change, {
          text: "Send it again to start a new task: then it does not count as a duplicate.",
          command: `svc delivery redeliver ${delivery.id}`,
        }],
      };
    case "handshake":
      return {
        tone: "plain",
        what: "A handshake: the platform checked the address, and svc answered. It starts nothing.",
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
  400: "The request is invalid: its sender has to send a different one.",
  403: "It would pass from an address in the trigger's spec.event.webhook.allowFrom.",
  408: "It would pass if its whole body arrived in time: check the network path from its sender.",
  413: "It would pass with a smaller body, or if the daemon allowed larger ones.",
  415: "It would pass as JSON or a form, without an unsupported Content-Encoding.",
  429: "It would pass within the trigger's rate limit: svc told its sender to try again.",
  503: "It would pass when the daemon is less busy: svc told its sender to try again.",
};
