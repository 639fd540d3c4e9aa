/**
 * The operations on triggers.
 *
 * @module
 */

import Type from "typebox";
import type { Explanation } from "./delivery_operations.ts";
import {
  defineOperation,
  DELIVERY,
  json,
  lines,
  OPTIONAL_TEXT,
  PROJECT,
  SECS,
  TEXT,
} from "./operation.ts";

/** The outcome of an event that an operator fired. */
export interface Fired {
  readonly trigger: string;
  /** `accepted` when a task was started; else `filtered` or `skipped`. */
  readonly outcome: string;
  /** Why; empty when there is no reason to give. */
  readonly reason: string;
  readonly delivery_id: string;
  readonly task_id: string | null;
  /** Headers that the condition reads and the event does not have, where nothing was started. */
  readonly missing_headers: readonly string[];
}

/** A request that was made for a trigger. */
export interface SignedByDaemon {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Key of the SecretStore that signed it; `null` when the trigger wants no signature. */
  readonly key: string | null;
}

/** A request that was sent to a trigger, and the answer. */
export interface Sent {
  readonly url: string;
  /** Key of the SecretStore that signed it; `null` when the trigger wants no signature. */
  readonly key: string | null;
  /** HTTP status of the answer. */
  readonly status: number;
  /** The text of the answer, or its beginning where it is long. */
  readonly answer: string;
  /** Headers that the condition reads and the request did not have. */
  readonly missing_headers: readonly string[];
}

/** The result of one stage of a trial. */
export interface TriedStage {
  readonly stage: string;
  readonly result: string;
}

/** Number of deliveries by what changes, such as `accepted → filtered` or `unchanged accepted`. */
export type BacktestCounts = Readonly<Record<string, number>>;

/** The result of a backtest for one stored delivery. */
export interface BacktestedDelivery {
  readonly delivery_id: string;
  /** RFC 3339. */
  readonly received_at: string;
  /** The outcome it had; a duplicate counts as accepted. */
  readonly before: string;
  /** The outcome it would have now. */
  readonly after: string;
  /** Why; empty when there is nothing to say. */
  readonly reason: string;
  readonly unchanged: boolean;
}

/** A line of a backtest: how many deliveries there are, each of them, how far it is, the end. */
export type BacktestLine =
  | { readonly total: number }
  | BacktestedDelivery
  | { readonly examined: number; readonly counts: BacktestCounts }
  | { readonly done: true; readonly examined: number; readonly counts: BacktestCounts };

/** Headers by name, in any case. */
const HEADERS = Type.Record(TEXT, TEXT);
/** The body of a request. */
const BODY = Type.String({ description: "The bytes in base64" });

/** A condition that is tried. */
const FILTER = Type.Optional(Type.String({
  minLength: 1,
  maxLength: 16_384,
  description: "A CEL condition to use instead of the trigger's",
}));

/** A request that is to be signed as the trigger's sender would. */
const TO_SEND = {
  name: TEXT,
  project: PROJECT,
  body: BODY,
  headers: Type.Optional(HEADERS),
  event: OPTIONAL_TEXT,
  key: OPTIONAL_TEXT,
  url: Type.Optional(Type.String({ description: "Another address; for admins" })),
};

/** The operations on triggers, by name. */
export const TRIGGER_OPERATIONS = {
  "trigger.test": defineOperation({
    summary: "Runs a request through a trigger without storing or starting anything",
    input: {
      name: TEXT,
      project: PROJECT,
      body: Type.Optional(BODY),
      headers: Type.Optional(HEADERS),
      sign: Type.Optional(Type.Boolean({ description: "Signs it as the sender would" })),
      event: OPTIONAL_TEXT,
      platform: OPTIONAL_TEXT,
      key: OPTIONAL_TEXT,
      delivery: Type.Optional(DELIVERY),
      filter: FILTER,
    },
    output: json<{
      readonly would: string;
      readonly stages: readonly TriedStage[];
      /** The parts of the condition, event by event. */
      readonly parts: Explanation["events"][number]["parts"];
    }>(),
    role: "operator",
    console: true,
  }),
  "trigger.backtest": defineOperation({
    summary:
      "Runs the stored deliveries of a trigger again, under another filter, starting nothing",
    input: {
      name: TEXT,
      project: PROJECT,
      filter: FILTER,
      since_secs: SECS,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
    },
    output: lines<BacktestLine>(),
    role: "operator",
    console: true,
    tool: {
      for: "person",
      description: "Runs the stored deliveries of a trigger again under another condition (CEL), " +
        "and starts nothing: which ones would change, and how many there are.",
      readOnly: true,
      fromOutside: true,
      input: {
        name: Type.String({ description: "Name of the trigger" }),
        project: PROJECT,
        filter: FILTER,
        since_secs: SECS,
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      },
    },
  }),
  "trigger.send": defineOperation({
    summary: "Signs a request as the trigger's sender would, and posts it to its address",
    input: TO_SEND,
    output: json<Sent>(),
    role: "operator",
  }),
  "trigger.sign": defineOperation({
    summary: "Signs a request as the trigger's sender would, and returns it",
    input: TO_SEND,
    output: json<SignedByDaemon>(),
  }),
  "trigger.fire": defineOperation({
    summary: "Fires a trigger by hand",
    input: {
      name: TEXT,
      project: PROJECT,
      payload: Type.String({ description: "One JSON object, which the steps get unchanged" }),
      headers: Type.Optional(HEADERS),
    },
    output: json<Fired>(),
    role: "operator",
    console: true,
  }),
  "trigger.suspend": defineOperation({
    summary: "Suspends a trigger: its deliveries are recorded and start nothing",
    input: { name: TEXT, project: PROJECT },
    output: json<SuspendResult>(),
    role: "operator",
    console: true,
  }),
  "trigger.resume": defineOperation({
    summary: "Resumes a suspended trigger; deliveries that were skipped start nothing",
    input: { name: TEXT, project: PROJECT },
    output: json<SuspendResult>(),
    role: "operator",
    console: true,
  }),
};

/** The result of suspending or resuming a trigger. */
export interface SuspendResult {
  /** The name of the trigger, as `trigger/NAME`. */
  readonly name: string;
  /** Whether the state was another one before. */
  readonly changed: boolean;
}
