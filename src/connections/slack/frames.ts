/**
 * Frames of Slack's Socket Mode
 * (https://docs.slack.dev/apis/events-api/using-socket-mode). Pure. The payload of an envelope is
 * kept as it was sent.
 *
 * ```ts
 * import { type Frame, readFrame } from "./frames.ts";
 * import { deepStrictEqual as equal } from "node:assert/strict";
 *
 * const frame: Frame = readFrame('{"type": "events_api", "envelope_id": "e1", "payload": {"a": 1.0}}');
 * equal(frame, { is: "envelope", id: "e1", type: "events_api", payload: '{"a": 1.0}', retry: {} });
 * ```
 *
 * @module
 */

import { findMembers, textOf } from "../../base/json_members.ts";

/** Something that happened at Slack, to be acknowledged. */
export interface Envelope {
  readonly is: "envelope";
  /** What the acknowledgement names. */
  readonly id: string;
  /** `events_api`, `interactive`, `slash_commands`; others may come. */
  readonly type: string;
  /** JSON: what Slack would have posted to an address. */
  readonly payload: string;
  /** Which repetition it is, and why; empty for the first time. */
  readonly retry: { readonly attempt?: string; readonly reason?: string };
}

/** One frame. */
export type Frame =
  | { readonly is: "hello"; readonly connections: number }
  | { readonly is: "disconnect"; readonly reason: string }
  | Envelope
  | { readonly is: "unknown"; readonly why: string };

/** Form of the ids of envelopes; real ones are UUIDs. */
const ID = /^[!-~]{1,200}$/;

const MEMBERS = [
  "type",
  "envelope_id",
  "payload",
  "reason",
  "num_connections",
  "retry_attempt",
  "retry_reason",
];

/** Reads a frame. */
export function readFrame(text: string): Frame {
  const found = findMembers(text, MEMBERS);
  const type = textOf(found?.["type"]);
  if (found === undefined || type === undefined) {
    return { is: "unknown", why: "it is not a JSON object with a type" };
  }
  if (type === "hello") return { is: "hello", connections: countOf(found["num_connections"]) };
  if (type === "disconnect") return { is: "disconnect", reason: textOf(found["reason"]) ?? "" };
  const id = textOf(found["envelope_id"]);
  const { payload } = found;
  if (id === undefined || !ID.test(id) || payload === undefined) {
    return { is: "unknown", why: `its type is "${type.slice(0, 40)}", and it is not an envelope` };
  }
  const attempt = countOf(found["retry_attempt"]);
  const reason = textOf(found["retry_reason"]) ?? "";
  return {
    is: "envelope",
    id,
    type,
    payload,
    retry: {
      ...(attempt === 0 ? {} : { attempt: String(attempt) }),
      ...(/^[!-~]{1,80}$/.test(reason) ? { reason } : {}),
    },
  };
}

function countOf(json: string | undefined): number {
  return json !== undefined && /^[0-9]{1,6}$/.test(json) ? Number(json) : 0;
}
