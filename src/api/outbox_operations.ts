/**
 * The operations on messages of the outbox.
 *
 * @module
 */

import { defineOperation, json, lines, MESSAGE } from "./operation.ts";
import { EVERY_RUN } from "./roles.ts";

/** How a message stands. */
export interface MessageStatus {
  readonly id: string;
  readonly state: "held" | "pending" | "sent" | "failed" | "dropped";
  /** Why it failed, waits or was dropped; empty when there is nothing to say. */
  readonly reason: string;
  /** Id that the other system gave it; `null` where there is none. */
  readonly external_id: string | null;
}

/** A part of a patch. */
export interface PatchPart {
  readonly text: string;
}

/** The operations on messages of the outbox, by name. */
export const OUTBOX_OPERATIONS = {
  "outbox.wait": defineOperation({
    summary:
      "Waits until a message was sent, given up or dropped, or is held: its status whenever it changes",
    input: { id: MESSAGE },
    output: lines<MessageStatus>(),
    role: "read_only",
    grants: EVERY_RUN,
  }),
  "outbox.retry": defineOperation({
    summary: "Sends a message now that was not sent",
    input: { id: MESSAGE },
    output: json<MessageStatus>(),
    role: "operator",
    console: true,
  }),
  "outbox.send": defineOperation({
    summary: "Sends a message that is held for a person",
    input: { id: MESSAGE },
    output: json<MessageStatus>(),
    role: "operator",
    console: true,
  }),
  "outbox.diff": defineOperation({
    summary: "The change of files that a message brings, as a patch, in parts of at most 64 KiB",
    input: { id: MESSAGE },
    output: lines<PatchPart>(),
    role: "read_only",
    console: true,
  }),
  "outbox.drop": defineOperation({
    summary: "Drops a message that was not sent",
    input: { id: MESSAGE },
    output: json<MessageStatus>(),
    role: "operator",
    console: true,
  }),
};
