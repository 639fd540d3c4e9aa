/**
 * The refusals of the program: a closed list of codes, and the table that maps each code to an HTTP
 * status and an exit code, for both servers, the client and the command line.
 *
 * @module
 */

import { defined } from "./defined.ts";
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

/** The stable name of a kind of refusal, `code` in the body of an error answer. */
export type ErrorCode = keyof typeof CODES;

/** The optional parts of an {@linkcode AppError}. */
export interface AppErrorOptions {
  /** The original error, for the log only. */
  cause?: unknown;
  /** One line for each finding, in the order of the input. */
  details?: readonly string[];
  /** For the operator, not for the sender of a request; kept with the delivery. */
  reason?: string;
  /** Seconds after which the same request may succeed; absent if not known. */
  retryAfterSecs?: number;
}

/**
 * An intended refusal. Its message is one sentence that says what to do, for the person at the terminal.
 * Any other error is a bug, and is answered as `internal`.
 */
export class AppError extends Error {
  /** The name of the class, also in a bundle, which renames classes. */
  override readonly name = "AppError";
  readonly code: ErrorCode;
  /** One line for each finding; may be empty. */
  readonly details: readonly string[];
  /** For the operator only; may be empty. */
  readonly reason: string;
  /** Seconds after which the same request may succeed; `undefined` if not known. */
  readonly retryAfterSecs: number | undefined;

  /** `message` begins with a capital and has no full stop. */
  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, defined({ cause: options.cause }));
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

/** The refusal of a sender, always with the same message; `reason` is for the operator only. */
export function unauthorized(reason: string): AppError {
  return new AppError("unauthorized", "Not authenticated", { reason });
}

/** Whether `code`, which another program sent, is an {@linkcode ErrorCode}. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(CODES, code);
}

/** The refusal `overloaded` for an error of a machine that is short of something; else `undefined`. */
export function findNotNow(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error.code === "overloaded" ? error : undefined;
  const shortage = findShortage(error);
  if (shortage === undefined) return undefined;
  const message = `${shortage.slice(0, 1).toUpperCase()}${shortage.slice(1)}`;
  return new AppError("overloaded", message, { cause: error });
}

/**
 * The refusal for any error: `error` itself if it is one, `overloaded` if the machine was short of
 * something, and `internal` for a bug.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const notNow = findNotNow(error);
  if (notNow !== undefined) return notNow;
  return new AppError("internal", "Internal error, see the daemon's log", { cause: error });
}

/** The number of a system error and the failed call, which messages for people leave out. */
const OS_ERROR = / \(os error [0-9]+\)(?:: [a-z_]+ '.*)?/s;

/** Deno's message about a permission that the program was compiled without, with advice for developers. */
const DENO_RIGHT =
  /Requires (\w+) access(?: to ("[^"]*"|[^\s,]+))?, (?:specify the required permissions during compilation using `[^`]*`|run again with the \S+ flag)/g;

/** The verb for each permission. */
const VERBS: { readonly [Right in string]?: string } = {
  read: "read",
  write: "write to",
  run: "run",
  net: "connect to",
  env: "read the variable",
};

/** A text in which Deno's messages about permissions are replaced by messages for users of svc. */
export function inOwnWords(text: string): string {
  return text.replace(DENO_RIGHT, (_, right: string, what = "this") => {
    // Deno asks for all permissions to read and write below /dev, /proc and /sys.
    if (right === "all") return `svc does not use ${what}: it is below /dev, /proc or /sys`;
    return `svc has no right to ${VERBS[right] ?? "use"} ${what}`;
  });
}

/** The message of any thrown value, for people. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return inOwnWords(message).replace(OS_ERROR, "");
}
