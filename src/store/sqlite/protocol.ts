/**
 * What the daemon's thread and the threads of the database say to each other.
 *
 * @module
 */

import { AppError, type ErrorCode, isErrorCode, messageOf } from "../../base/errors.ts";
import type { Progress } from "../maintenance.ts";
import type { StoreMethod } from "../store.ts";

/** One call of a store method. */
export interface Call {
  /** Which method. */
  readonly method: StoreMethod;
  readonly args: readonly unknown[];
}

/** To the store's thread. */
export type Request =
  | { readonly type: "open"; readonly path: string; readonly node: string }
  | { readonly type: "batch"; readonly calls: readonly Call[] }
  | { readonly type: "close" };

/** What a call came to. */
export type Outcome = { readonly value: unknown } | { readonly error: SentError };

/** From the store's thread; one for each request, in order. */
export type Reply =
  | { readonly type: "opened" | "closed" }
  | { readonly type: "refused"; readonly error: SentError }
  | {
    readonly type: "results";
    readonly results: readonly Outcome[];
    /** How long the batch took, in milliseconds. */
    readonly tookMs: number;
    /** Whether any of it changed a row. */
    readonly wrote: boolean;
  };

/** To the thread of a long job; a number other than 0 in `stop` ends it. */
export type Job =
  | {
    readonly type: "backup";
    readonly from: string;
    readonly to: string;
    readonly stop: SharedArrayBuffer;
  }
  | { readonly type: "check"; readonly path: string };

/** From that thread; the last one says how it ended. */
export type JobReply =
  | { readonly type: "progress"; readonly progress: Progress }
  | { readonly type: "done"; readonly value: unknown }
  | { readonly type: "failed"; readonly error: SentError };

/** An error in a form that can be cloned. */
export interface SentError {
  /** Code of an {@linkcode AppError}; absent for a bug. */
  readonly code?: ErrorCode;
  readonly message: string;
  /** Its findings, one line each. */
  readonly details?: readonly string[];
  /** Seconds after which the same may go. */
  readonly retryAfterSecs?: number;
  /** Stack of the bug. */
  readonly stack?: string;
}

/** Prepares an error for sending. */
export function sendError(error: unknown): SentError {
  if (error instanceof AppError) {
    const { code, message, details, retryAfterSecs } = error;
    return { code, message, details, ...(retryAfterSecs === undefined ? {} : { retryAfterSecs }) };
  }
  const stack = error instanceof Error ? error.stack : undefined;
  return { message: messageOf(error), ...(stack === undefined ? {} : { stack }) };
}

/** The error that was sent. */
export function receiveError(sent: SentError): Error {
  if (isErrorCode(sent.code)) return new AppError(sent.code, sent.message, sent);
  return new Error(sent.message, { cause: sent.stack });
}
