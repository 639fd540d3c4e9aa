/**
 * When messages of the outbox are sent: those of one lane one after the other, those to one target
 * in their order.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isJsonObject } from "../../base/json.ts";
import type { ClaimedMessage, NewMessage, OutboxMessage } from "../outbox_records.ts";

/** The time of a message that is due at once, also after the clock was set back. */
export const SEND_NOW = 0;

/** Longest time between two tries: a later one comes from a clock that was set back. */
export const LONGEST_WAIT_MS = 3600_000;

/** How long a message is held before it is dropped, and before people are told that it will be. */
export const HELD_MS = 7 * 24 * 3600_000;
export const WARN_HELD_MS = HELD_MS - 24 * 3600_000;

/** When a held message is dropped, in milliseconds since the epoch. */
export function heldUntil({ createdAt, nextAt }: OutboxMessage): number {
  return Math.max(createdAt + HELD_MS, nextAt);
}

/** The lane of a message: messages through one Connection, or without one to one target. */
export function laneOf(
  { project, connection, kind, target }: Pick<
    NewMessage,
    "project" | "connection" | "kind" | "target"
  >,
): string {
  return connection === "" ? `${project}/${kind}/${canonical(target)}` : `${project}/${connection}`;
}

/** The JSON of a value with its members in one order, so that equal values have equal texts. */
export function canonical(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value).toSorted().map((key) => [key, sorted(value[key])]),
  );
}

/**
 * Times before which a message is not tried that count as past: up to `until`, and, in a future
 * that no pause reaches, later than `beyond`.
 */
export function dueMessages(now: number): { readonly until: number; readonly beyond: number } {
  return { until: now, beyond: now + LONGEST_WAIT_MS };
}

/** Facts of a message from before it was claimed. */
export interface BeforeClaim {
  readonly lane: string;
  /** Since when it may have arrived. */
  readonly uncertainSince?: number | undefined;
  /** The last message of the same key that has arrived, or may have. */
  readonly earlier?: Pick<OutboxMessage, "externalId" | "uncertainSince"> | undefined;
}

/** A message to be sent, as it is from the claim on: it counts as one that may have arrived. */
export function claimOf(
  message: OutboxMessage,
  { lane, uncertainSince, earlier }: BeforeClaim,
): ClaimedMessage {
  const { uncertainSince: _fromNow, ...known } = message;
  const since = uncertainSince ?? earlier?.uncertainSince;
  return {
    message: uncertainSince === undefined ? known : { ...known, uncertainSince },
    lane,
    previousId: earlier?.externalId ?? "",
    ...defined({ uncertainSince: since }),
  };
}
