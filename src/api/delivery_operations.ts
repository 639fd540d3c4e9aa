/**
 * The operations on deliveries.
 *
 * @module
 */

import Type from "typebox";
import {
  defineOperation,
  DELIVERY,
  json,
  lines,
  OPTIONAL_SECS,
  OPTIONAL_TEXT,
} from "./operation.ts";
import type { DeliveryRecord } from "./records.ts";
import { QUERY } from "./resource_operations.ts";
import { EVERY_RUN } from "./roles.ts";

/** The history of a delivery, stage by stage. */
export interface Explanation {
  readonly delivery: DeliveryRecord;
  readonly stages: readonly { readonly stage: string; readonly after_ms: number }[];
  /** Which key matched, or why none did. */
  readonly authentication: string;
  /** Condition that was evaluated. */
  readonly condition?: string;
  /** Why the parts of the condition are not evaluated. */
  readonly not_evaluated?: string;
  /** Id of its event, where it came from a chat platform. */
  readonly source_event_id?: string;
  /** The outcome of each event, and the value of each part of the condition. */
  readonly events: readonly {
    readonly outcome: string;
    readonly reason: string;
    readonly task_id: string | null;
    readonly parts: readonly {
      readonly expression: string;
      readonly value?: string;
      readonly error?: string;
      readonly saw: Readonly<Record<string, string>>;
      /** By field: whether a signature covers it. Only if the sender had to sign. */
      readonly signed: Readonly<Record<string, boolean>>;
    }[];
  }[];
  /** The steps whose waits it ended. */
  readonly ended_waits: readonly { readonly task_id: string; readonly step: string }[];
  /** Open waits at its trigger that it has not ended: the nearest ones, at most 5, and why not. */
  readonly missed_waits: readonly {
    readonly task_id: string;
    readonly step: string;
    readonly why: string;
  }[];
  /** Changes that would make the signature valid, most likely first. */
  readonly diagnoses: readonly { readonly cause: string; readonly message: string }[];
  readonly advice: readonly string[];
}

/** The stored request of a delivery. */
export interface ShownDelivery {
  readonly delivery: DeliveryRecord;
  /** `POST`, or the method of the platform's handshake. */
  readonly method: string;
  /** Address it arrived at; `null` when it was no request, or webhooks are off. */
  readonly url: string | null;
  /** Headers, names in lower case; those with which a reader could forge a request are `***`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning of the body, or with `whole` all of it. */
  readonly body: string;
  /** Bytes of the whole body. */
  readonly body_bytes: number;
  /** Whether `body` is only the beginning. */
  readonly truncated: boolean;
  /** `text`: `body` is the text itself; `base64`: the bytes are not text. */
  readonly body_encoding: "text" | "base64";
}

/** One line of a redelivery: the number of deliveries, or one of them and its result. */
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
    input: { id: DELIVERY },
    output: json<Explanation>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
    tool: {
      for: "person",
      description: "Explains what became of a request to a trigger: whether its signature was " +
        "valid, what the filter saw, which task it started, and what to change.",
      readOnly: true,
      fromOutside: true,
    },
  }),
  "delivery.show": defineOperation({
    summary: "Shows the stored request of a delivery, its headers and its body",
    input: {
      id: DELIVERY,
      whole: Type.Optional(
        Type.Boolean({ description: "All of the body, not only its first 256 KiB" }),
      ),
    },
    output: json<ShownDelivery>(),
    role: "operator",
    console: true,
    grants: { step: { own: "delivery", in: "id" } },
  }),
  "delivery.redeliver": defineOperation({
    summary: "Sends one stored delivery, or those that match, through the pipeline again",
    input: {
      id: Type.Optional(DELIVERY),
      project: OPTIONAL_TEXT,
      trigger: OPTIONAL_TEXT,
      outcome: OPTIONAL_TEXT,
      since_secs: OPTIONAL_SECS,
      until: QUERY.until,
      reason: QUERY.reason,
      status: QUERY.status,
      remote: QUERY.remote,
      key: QUERY.key,
      min_duration_ms: QUERY.min_duration_ms,
      dry_run: Type.Optional(Type.Boolean({ description: "Only lists which deliveries match" })),
    },
    output: lines<RedeliveryLine>(),
    role: "operator",
    console: true,
    tool: {
      for: "person",
      description: "Sends one stored delivery through the pipeline again, which may start a task.",
      readOnly: false,
      fromOutside: true,
      input: { id: DELIVERY },
    },
  }),
};
