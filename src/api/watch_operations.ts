/**
 * The operation with which a page watches everything that it shows, in one stream: a browser opens
 * few connections to one host.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, type InputOf, lines } from "./operation.ts";
import { QUERY } from "./resource_operations.ts";
import { EVERY_RUN } from "./roles.ts";
import { type Stats, type Status, STATUS_OPERATIONS } from "./status_operations.ts";
import type { LogText } from "./task_operations.ts";

/** Most records of one list of a page. */
const MAX_LISTED = 1000;
/** Most subjects of one stream. */
const MAX_SUBJECTS = 16;

const WATCHED_QUERY = Type.Object({
  ...QUERY,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LISTED })),
}, { additionalProperties: false, description: "What to list, as `get` takes it" });

const SUBJECT = Type.Object({
  key: Type.String({
    minLength: 1,
    maxLength: 64,
    description: "What the lines of this subject are marked with",
  }),
  get: Type.Optional(WATCHED_QUERY),
  task: Type.Optional(Type.String({ description: "What names one task" })),
  log: Type.Optional(Type.String({ description: "What names the task of a log" })),
  step: Type.Optional(Type.String({ description: "With `log`: only lines of this step" })),
  raw: Type.Optional(
    Type.Literal(true, {
      description: "With `log`: only what agents printed, before svc made lines of it",
    }),
  ),
  after: Type.Optional(
    Type.String({
      pattern: "^[0-9a-f.]{1,64}$",
      title: "the cursor of a line",
      description: "With `get` or `log`: the `cursor` of a line, to go on from there",
    }),
  ),
  stats: Type.Optional(
    Type.Object(STATUS_OPERATIONS["stats"].input.properties, {
      additionalProperties: false,
      description: "The figures of the last minutes, as `stats` takes them",
    }),
  ),
  status: Type.Optional(Type.Literal(true, { description: "The state of the daemon" })),
}, { additionalProperties: false });

/** One subject of a watch: exactly one of `get`, `task`, `log`, `status` and `stats`. */
export type WatchSubject = InputOf<typeof WATCH_OPERATIONS["watch"]>["subjects"][number];

/** The changes of one list. */
export interface WatchedList {
  /** One JSON object for each that is new or changed; in the first line, oldest first. */
  readonly items: readonly Record<string, unknown>[];
  /** `kind/name` of each item. */
  readonly names: readonly string[];
  /** `kind/name` of the items that were deleted or have left the requested state. */
  readonly deleted: readonly string[];
  /** Whether this is the whole list, which replaces all earlier lines. */
  readonly whole: boolean;
  /**
   * Send it as `after` in another stream to continue this list there. That stream begins with what
   * has changed since, or, if that is not known, with the whole list. Absent if the last cursor
   * still counts, or if there is none.
   */
  readonly cursor?: string;
}

/** New lines of a log. */
export interface WatchedLog {
  /** An unfinished line is repeated when more of it has come. */
  readonly lines: readonly LogText[];
  /** Place in the log file up to which it is known now, in bytes. */
  readonly end: number;
  /** The same as `after`, with which another stream goes on from here. */
  readonly cursor: string;
  /** Whether the task has ended and nothing more will come: this is the last line of the subject. */
  readonly over: boolean;
}

/** Why there are no more lines of a subject. */
export interface WatchedError {
  readonly error: { readonly code: string; readonly message: string };
}

/** The part of a line about one subject. */
export type Watched =
  | WatchedList
  | { readonly task: Readonly<Record<string, unknown>> }
  | WatchedLog
  | { readonly status: Status }
  | { readonly stats: Stats }
  | WatchedError;

/** A line of a watch: the changes of the subject with this key; a line without a key is a keepalive. */
export type WatchedLine = { readonly key: string } & Watched | Readonly<Record<string, never>>;

/** The operations that watch several things, by name. */
export const WATCH_OPERATIONS = {
  "watch": defineOperation({
    // Each subject is also checked as the operation that it stands for.
    summary: "Watches lists, tasks, logs and the daemon in one stream",
    input: { subjects: Type.Array(SUBJECT, { minItems: 1, maxItems: MAX_SUBJECTS }) },
    output: lines<WatchedLine>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
  }),
};
