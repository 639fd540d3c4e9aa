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

import { defined } from "../../base/defined.ts";
import { findMembers, textOf } from "../../base/json_members.ts";

/** An event of Slack, which has to be acknowledged. */
export interface Envelope {
  readonly is: "envelope";
  /** The acknowledgement names it. */
  readonly id: string;
  /** `events_api`, `interactive` or `slash_commands`; Slack may add others. */
  readonly type: string;
  /** The JSON that Slack would post to an address. */
  readonly payload: string;
  /** Number and reason of the repetition; empty for the first time. */
  readonly retry: { readonly attempt?: string; readonly reason?: string };
}

/** A message of the WebSocket. */
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

/** Reads a frame; one that is no frame of Slack becomes `unknown`. */
export function readFrame(text: string): Frame {
  const members = findMembers(text, MEMBERS);
  const type = textOf(members?.["type"]);
  if (members === undefined || type === undefined) {
    return { is: "unknown", why: "it is not a JSON object with a type" };
  }
  if (type === "hello") return { is: "hello", connections: countOf(members["num_connections"]) };
  if (type === "disconnect") return { is: "disconnect", reason: textOf(members["reason"]) ?? "" };
  const id = textOf(members["envelope_id"]);
  const { payload } = members;
  if (id === undefined || !ID.test(id) || payload === undefined) {
    return { is: "unknown", why: `its type is "${type.slice(0, 40)}", and it is not an envelope` };
  }
  const attempt = countOf(members["retry_attempt"]);
  const reason = textOf(members["retry_reason"]) ?? "";
  return {
    is: "envelope",
    id,
    type,
    payload,
    retry: defined({
      attempt: attempt === 0 ? undefined : String(attempt),
      reason: /^[!-~]{1,80}$/.test(reason) ? reason : undefined,
    }),
  };
}

function countOf(json: string | undefined): number {
  return json !== undefined && /^[0-9]{1,6}$/.test(json) ? Number(json) : 0;
}
