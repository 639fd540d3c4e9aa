/**
 * The operations on deliveries.
 *
 * @module
 */

import { defineOperation, ID, json, lines, OPTIONAL_SECS, OPTIONAL_TEXT } from "./operation.ts";
import { EVERY_RUN } from "./roles.ts";

/** What happened to a delivery, stage by stage. */
export interface Explanation {
  readonly delivery: Record<string, unknown>;
  /** When each stage was done. */
  readonly stages: readonly { readonly stage: string; readonly after_ms: number }[];
  /** Which key matched, or why none did. */
  readonly authentication: string;
  /** Condition that was evaluated. */
  readonly condition?: string;
  /** Why its parts are not told. */
  readonly not_evaluated?: string;
  /** Event of a chat platform that it brought. */
  readonly source_event_id?: string;
  /** What became of each event, and of each part of the condition. */
  readonly events: readonly {
    readonly outcome: string;
    readonly reason: string;
    readonly task_id: string | null;
    readonly parts: readonly {
      readonly expression: string;
      readonly value?: string;
      readonly error?: string;
      readonly saw: Readonly<Record<string, string>>;
    }[];
  }[];
  /** What would make the signature pass, most likely first. */
  readonly diagnoses: readonly { readonly cause: string; readonly message: string }[];
  /** What to do next. */
  readonly advice: readonly string[];
}

/** What was kept of a delivery. */
export interface ShownDelivery {
  readonly delivery: Record<string, unknown>;
  /** Address it came to; `null` when it was no request, or no webhooks are taken. */
  readonly url: string | null;
  /** Headers by name in lower case, those that would let somebody send in its name as `***`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What `body` is: the text itself, or the base64 of bytes that are none. */
  readonly body_encoding: "text" | "base64";
}

/** One line of a redelivery: how many there are, or what became of one. */
export type RedeliveryLine = { readonly total: number } | {
  readonly delivery_id: string;
  readonly new_delivery_id?: string;
  readonly outcome?: string;
  readonly reason?: string;
  readonly task_ids?: readonly string[];
  readonly error?: string;
};

/** The operations on deliveries, by name. */
export const DELIVERY_OPERATIONS = {
  "delivery.explain": defineOperation({
    summary: "Explains what happened to a delivery and why",
    input: { id: ID },
    output: json<Explanation>(),
    role: "read_only",
    grants: EVERY_RUN,
  }),
  "delivery.show": defineOperation({
    summary: "Shows what was kept of a delivery, its headers and its body",
    input: { id: ID },
    output: json<ShownDelivery>(),
    role: "operator",
    grants: { step: { own: "delivery", in: "id" } },
  }),
  "delivery.redeliver": defineOperation({
    summary: "Sends one stored delivery, or those that fit, through the pipeline again",
    input: {
      id: OPTIONAL_TEXT,
      project: OPTIONAL_TEXT,
      trigger: OPTIONAL_TEXT,
      outcome: OPTIONAL_TEXT,
      since_secs: OPTIONAL_SECS,
    },
    output: lines<RedeliveryLine>(),
    role: "operator",
  }),
};
