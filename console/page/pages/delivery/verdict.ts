/**
 * The outcome of a delivery in one sentence, and the changes that would lead to another outcome.
 * Pure.
 *
 * @module
 */

import type { Explanation } from "../../../../src/api/delivery_operations.ts";

/** The outcome of a delivery, as the top of its screen says it. */
export interface Verdict {
  readonly tone: "good" | "bad" | "plain";
  /** A sentence about the outcome. */
  readonly what: string;
  /** Changes that would have led to another outcome, and next steps; the likeliest first. */
  readonly change: readonly Change[];
}

/** A change that would lead to another outcome, or a next step. */
export interface Change {
  readonly text: string;
  /** The command that makes the change. */
  readonly command?: string;
}

type Part = Explanation["events"][number]["parts"][number];

/** Derives the verdict from the answer of `delivery.explain`. */
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

/** A line of advice; a text after the last colon that begins with `svc` is a command. */
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

/** The first part of the condition that was not true, with the values it saw. */
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

/** The change for a rejected delivery on which the daemon has no advice. */
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
