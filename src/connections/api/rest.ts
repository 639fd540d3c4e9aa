/**
 * Calls of the REST APIs of forges: a request, its answer, and its failure with the status. A call
 * returns its failure, so that each caller decides whether it tries again.
 *
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import type { Fault } from "../../http/send.ts";
import type { ApiFailure } from "./api_call.ts";

/** A request to the API. */
export interface RestCall {
  /** The method; `GET` if absent. */
  readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Path below the base URL, with its query. */
  readonly path: string;
  readonly body?: JsonObject;
  /** The `ETag` of an earlier answer, as it came: status 304 then means that nothing has changed. */
  readonly etag?: string;
  /** Most bytes of the answer; 8 MiB if absent. */
  readonly maxBytes?: number;
}

/** The answer of a call that succeeded. */
export interface RestData {
  readonly ok: true;
  readonly status: number;
  /** The JSON of the answer; `null` if it has none. */
  readonly data: unknown;
  /** The answer as it was sent. */
  readonly text: string;
  readonly headers: Headers;
  /** Path of the next page; absent on the last one. */
  readonly next?: string;
}

/** A call that failed. */
export interface RestFailure extends ApiFailure {
  /** Status of the answer; 0 if none came. */
  readonly status: number;
  /** Why no answer came. */
  readonly fault?: Fault;
  /** The server's time of the answer in milliseconds since the epoch, if it says it. */
  readonly at?: number;
}

/** The answer of a call, or its failure. */
export type RestAnswer = RestData | RestFailure;
