/**
 * Error answers of both servers: `application/problem+json` (RFC 9457) with a stable code.
 * Strangers get the title of the code and nothing else; the control plane adds the message.
 *
 * @module
 */

import type { AppError, ErrorCode } from "../base/errors.ts";

/** What a stranger is told of each code. */
const TITLES: Readonly<Record<ErrorCode, string>> = {
  usage: "Bad request",
  invalid: "Malformed request",
  unauthorized: "Not authenticated",
  forbidden: "Not allowed",
  not_found: "Not found",
  method_not_allowed: "Method not allowed",
  timeout: "The request took too long to arrive",
  conflict: "Conflict",
  too_large: "The body is too large",
  unsupported_type: "Unsupported content type or encoding",
  misdirected: "Not the address of this server",
  refused: "Refused",
  rate_limited: "Too many requests",
  headers_too_large: "The headers are too large",
  internal: "Internal error",
  plugin_failed: "The payload could not be transformed",
  overloaded: "Not available now, try again",
  unreachable: "Not reachable",
};

/** Seconds after which a sender may try again, where nothing better is known. */
const RETRY_AFTER_SECS = 5;

/** Body of an error answer. */
export interface Problem {
  /** Always `about:blank`: the code says it all. */
  readonly type: "about:blank";
  /** The code in words. */
  readonly title: string;
  /** HTTP status. */
  readonly status: number;
  /** Which kind of refusal this is. */
  readonly code: ErrorCode;
  /** Names the request in the log and among the deliveries. */
  readonly request_id: string;
  /** The message, where the caller may have it. */
  readonly detail?: string;
  /** Findings, one line each, where the caller may have them. */
  readonly details?: readonly string[];
}

/** How to answer with an error. */
export interface ProblemOptions {
  readonly requestId: string;
  /** Whether the caller may read the message: true on the control plane only. */
  readonly trusted?: boolean;
  /** Methods the path does allow. */
  readonly allow?: string;
}

/** The answer for a refusal. */
export function problemResponse(error: AppError, options: ProblemOptions): Response {
  const told = options.trusted === true && error.code !== "internal";
  const problem: Problem = {
    type: "about:blank",
    title: TITLES[error.code],
    status: error.status,
    code: error.code,
    request_id: options.requestId,
    ...(told ? { detail: error.message, details: error.details } : {}),
  };
  const headers = new Headers({ "content-type": "application/problem+json" });
  if (options.allow !== undefined) headers.set("allow", options.allow);
  if (error.code === "overloaded" || error.code === "rate_limited") {
    headers.set("retry-after", String(error.retryAfterSecs ?? RETRY_AFTER_SECS));
  }
  return new Response(JSON.stringify(problem), { status: error.status, headers });
}
