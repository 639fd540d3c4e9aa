/**
 * Messages between the daemon's thread and the threads of the database.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError, type ErrorCode, isErrorCode, messageOf } from "../../base/errors.ts";
import type { Progress } from "../maintenance.ts";
import type { StoreMethod } from "../store.ts";
import type { StoreArgs } from "../store_calls.ts";
import type { BatchContent, PackedDelivery, PackedOutcomes } from "./deliveries/packed_delivery.ts";

/** One call of a store method. */
export interface Call<Name extends StoreMethod = StoreMethod> {
  readonly method: Name;
  readonly args: StoreArgs<Name>;
}

/** Message to the store's thread. */
export type Request =
  | { readonly type: "open"; readonly path: string; readonly node: string }
  | {
    readonly type: "batch";
    /** Calls, of which those of `recordDelivery` are packed. */
    readonly calls: readonly (Call | PackedDelivery)[];
    readonly attached: BatchContent;
  }
  | { readonly type: "close" };

/** Result of a call; that of a packed call is packed, too. */
export type Outcome = PackedOutcomes | { readonly value: unknown } | {
  readonly error: ErrorData;
};

/** Whether a call or its result is packed. */
export function isPacked<Other extends object>(
  message: readonly unknown[] | Other,
): message is readonly unknown[] {
  return Array.isArray(message);
}

/** Message from the store's thread; one for each request, in order. */
export type Reply =
  | { readonly type: "opened" | "closed" }
  | { readonly type: "refused"; readonly error: ErrorData }
  | {
    readonly type: "results";
    readonly results: readonly Outcome[];
    /** Duration of the batch in milliseconds. */
    readonly tookMs: number;
    /** Whether any call changed a row. */
    readonly wrote: boolean;
  };

/** Where in `stop` of a {@linkcode Job} a number other than 0 asks its thread to end. */
export const STOP = 0;
/** Where in `stop` its thread says that it has copied all, and does what cannot be ended. */
export const COPIED = 1;

/** Message to the thread of a long job. */
export type Job =
  | {
    readonly type: "backup";
    readonly from: string;
    readonly to: string;
    readonly stop: SharedArrayBuffer;
  }
  | { readonly type: "check"; readonly path: string; readonly alone: boolean }
  | { readonly type: "glance"; readonly path: string; readonly alone: boolean }
  | {
    readonly type: "usage";
    readonly path: string;
    readonly logs: string;
    readonly alone: boolean;
    readonly stop: SharedArrayBuffer;
  };

/** Message from that thread; the last one is the result. */
export type JobReply =
  | { readonly type: "progress"; readonly progress: Progress }
  | { readonly type: "done"; readonly value: unknown }
  | { readonly type: "failed"; readonly error: ErrorData };

/** An error in a form that can be cloned. */
export interface ErrorData {
  /** Code of an {@linkcode AppError}; absent for a bug. */
  readonly code?: ErrorCode;
  readonly message: string;
  /** Findings, one line each. */
  readonly details?: readonly string[];
  /** Seconds after which a retry may succeed. */
  readonly retryAfterSecs?: number;
  /** Stack of a bug. */
  readonly stack?: string;
}

/** Prepares an error for sending. */
export function sendError(error: unknown): ErrorData {
  if (error instanceof AppError) {
    const { code, message, details, retryAfterSecs } = error;
    return { code, message, details, ...defined({ retryAfterSecs }) };
  }
  const stack = error instanceof Error ? error.stack : undefined;
  return { message: messageOf(error), ...defined({ stack }) };
}

/** Restores a received error. */
export function receiveError(sent: ErrorData): Error {
  if (isErrorCode(sent.code)) return new AppError(sent.code, sent.message, sent);
  return new Error(sent.message, { cause: sent.stack });
}
