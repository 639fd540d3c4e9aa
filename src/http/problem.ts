/**
 * Error answers of both servers: `application/problem+json` (RFC 9457) with a stable code. Senders of
 * webhooks see only the title of the code; the control plane adds the message.
 *
 * @module
 */

import type { AppError, ErrorCode } from "../base/errors.ts";

/** The title of each code, which a stranger may read. */
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

/** Value of `Retry-After` where the error names none. */
const RETRY_AFTER_SECS = 5;

/** The body of an error answer. */
export interface Problem {
  /** Always `about:blank`, because `code` names the kind of problem. */
  readonly type: "about:blank";
  /** The code in words. */
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  /** The id of the request in the log and among the deliveries. */
  readonly request_id: string;
  /** The message, if the caller may read it. */
  readonly detail?: string;
  /** One line for each finding, if the caller may read them. */
  readonly details?: readonly string[];
}

/** The request that an error answers. */
export interface ProblemOptions {
  readonly requestId: string;
  /** Whether the caller may read the message: only on the control plane. */
  readonly trusted?: boolean;
  /** Methods that the path allows. */
  readonly allow?: string;
}

/** The answer to a request that was refused. */
export function problemResponse(error: AppError, options: ProblemOptions): Response {
  const isReadable = options.trusted === true && error.code !== "internal";
  const problem: Problem = {
    type: "about:blank",
    title: TITLES[error.code],
    status: error.status,
    code: error.code,
    request_id: options.requestId,
    ...(isReadable ? { detail: error.message, details: error.details } : {}),
  };
  const headers = new Headers({ "content-type": "application/problem+json" });
  if (options.allow !== undefined) headers.set("allow", options.allow);
  if (error.code === "overloaded" || error.code === "rate_limited") {
    headers.set("retry-after", String(error.retryAfterSecs ?? RETRY_AFTER_SECS));
  }
  return new Response(JSON.stringify(problem), { status: error.status, headers });
}
