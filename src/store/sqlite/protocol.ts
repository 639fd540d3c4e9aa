/**
 * What the daemon's thread and the store's thread say to each other.
 *
 * @module
 */

import { AppError, type ErrorCode, isErrorCode, messageOf } from "../../base/errors.ts";
import type { StoreMethod } from "../store.ts";

/** One call of a store method. */
export interface Call {
  /** Which method. */
  readonly method: StoreMethod;
  /** Its arguments, cloned. */
  readonly args: readonly unknown[];
}

/** To the store's thread. */
export type Request =
  | { readonly type: "open"; readonly path: string }
  | { readonly type: "batch"; readonly calls: readonly Call[] }
  | { readonly type: "close" };

/** What a call came to. */
export type Outcome = { readonly value: unknown } | { readonly error: SentError };

/** From the store's thread; one for each request, in order. */
export type Reply =
  | { readonly type: "opened" | "closed" }
  | { readonly type: "refused"; readonly error: SentError }
  | { readonly type: "results"; readonly results: readonly Outcome[] };

/** An error in a form that can be cloned. */
export interface SentError {
  /** Code of an {@linkcode AppError}; absent for a bug. */
  readonly code?: ErrorCode;
  /** Its message. */
  readonly message: string;
  /** Stack of the bug. */
  readonly stack?: string;
}

/** Prepares an error for sending. */
export function sendError(error: unknown): SentError {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  const stack = error instanceof Error ? error.stack : undefined;
  return { message: messageOf(error), ...(stack === undefined ? {} : { stack }) };
}

/** The error that was sent. */
export function receiveError(sent: SentError): Error {
  if (isErrorCode(sent.code)) return new AppError(sent.code, sent.message);
  return new Error(sent.message, { cause: sent.stack });
}
