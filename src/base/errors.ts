/**
 * The program's refusals: one closed list of codes, and the one table that maps each to an HTTP
 * status and an exit code, for both servers, the client and the command line.
 *
 * @module
 */

import { findShortage } from "./shortage.ts";

/** HTTP status and exit code of every {@linkcode ErrorCode}. */
const CODES = {
  usage: { status: 400, exit: 2 },
  invalid: { status: 400, exit: 1 },
  unauthorized: { status: 401, exit: 1 },
  forbidden: { status: 403, exit: 5 },
  not_found: { status: 404, exit: 4 },
  method_not_allowed: { status: 405, exit: 2 },
  timeout: { status: 408, exit: 1 },
  conflict: { status: 409, exit: 1 },
  too_large: { status: 413, exit: 1 },
  unsupported_type: { status: 415, exit: 1 },
  misdirected: { status: 421, exit: 1 },
  refused: { status: 422, exit: 1 },
  rate_limited: { status: 429, exit: 1 },
  headers_too_large: { status: 431, exit: 1 },
  internal: { status: 500, exit: 1 },
  plugin_failed: { status: 502, exit: 1 },
  overloaded: { status: 503, exit: 1 },
  unreachable: { status: 503, exit: 3 },
} as const;

/** A stable name for one kind of refusal; appears as `code` in every error body. */
export type ErrorCode = keyof typeof CODES;

/** What an {@linkcode AppError} may carry beside its message. */
export interface AppErrorOptions {
  /** The error underneath, for the log only; never shown to a stranger. */
  cause?: unknown;
  /** Several findings at once, one line each, in the order of the input. */
  details?: readonly string[];
  /** What the operator may know and the sender of a request must not; kept with the delivery. */
  reason?: string;
  /** Seconds after which the same request may succeed; absent when it is not known. */
  retryAfterSecs?: number;
}

/**
 * A refusal the program means: its message is one sentence that says what to do, written for the
 * person at the terminal. Anything else that is thrown is a bug and is answered as `internal`.
 */
export class AppError extends Error {
  /** Name of the class, also in a bundle. */
  override readonly name = "AppError";
  /** Which kind of refusal this is. */
  readonly code: ErrorCode;
  /** One line per finding; empty when the message says it all. */
  readonly details: readonly string[];
  /** What only the operator may know; empty when there is nothing to add. */
  readonly reason: string;
  /** Seconds after which the same request may succeed; `undefined` when it is not known. */
  readonly retryAfterSecs: number | undefined;

  /** Makes a refusal; the message starts with a capital and has no full stop. */
  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? [];
    this.reason = options.reason ?? "";
    this.retryAfterSecs = options.retryAfterSecs;
  }

  /** The HTTP status of this refusal, 400 to 599. */
  get status(): number {
    return CODES[this.code].status;
  }

  /** The exit code of the command line for this refusal, 1 to 5. */
  get exitCode(): number {
    return CODES[this.code].exit;
  }
}

/** A sender that is refused: always with the same words, the reason is for the operator only. */
export function unauthorized(reason: string): AppError {
  return new AppError("unauthorized", "Not authenticated", { reason });
}

/** Whether `code` is one of ours; used where a code arrives as text from the other side. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(CODES, code);
}

/** The refusal `overloaded` where the machine was short of something; `undefined` for other errors. */
export function findNotNow(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error.code === "overloaded" ? error : undefined;
  const shortage = findShortage(error);
  if (shortage === undefined) return undefined;
  const message = `${shortage.slice(0, 1).toUpperCase()}${shortage.slice(1)}`;
  return new AppError("overloaded", message, { cause: error });
}

/**
 * Returns `error` itself when it is a refusal of ours, says what the machine was short of, and wraps
 * every bug as `internal`.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const notNow = findNotNow(error);
  if (notNow !== undefined) return notNow;
  return new AppError("internal", "Internal error, see the daemon's log", { cause: error });
}

/** The system's number of an error, and the call that failed: both mean nothing to a reader. */
const OS_ERROR = / \(os error [0-9]+\)(?:: [a-z_]+ '.*)?/s;

/** What Deno says of a right that the program was compiled without: flags of a compiler. */
const DENO_RIGHT =
  /Requires (\w+) access(?: to ("[^"]*"|[^\s,]+))?, (?:specify the required permissions during compilation using `[^`]*`|run again with the \S+ flag)/g;

/** What may not be done without that right. */
const VERBS: { readonly [Right in string]?: string } = {
  read: "read",
  write: "write to",
  run: "run",
  net: "connect to",
  env: "read the variable",
};

/** A text with what Deno says of rights in words that mean something to a user of svc. */
export function inOwnWords(text: string): string {
  return text.replace(DENO_RIGHT, (_, right: string, what = "this") => {
    // reading and writing there needs every right at once, which svc does without
    if (right === "all") return `svc does not use ${what}: it is below /dev, /proc or /sys`;
    return `svc has no right to ${VERBS[right] ?? "use"} ${what}`;
  });
}

/** The message of anything that was thrown, in words only. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return inOwnWords(message).replace(OS_ERROR, "");
}
