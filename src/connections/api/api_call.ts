/**
 * Calls of the APIs of platforms: how one is reached, and how a call fails. Each platform's client
 * says what its answers mean.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import type { Answered, Unanswered } from "../../http/send.ts";

/** An API, and the token of its calls. */
export interface ApiAccess {
  /** Base URL, without a slash at its end. */
  readonly api: string;
  /**
   * Reads the current token: one that was rotated counts from the next call on. Empty for a call
   * without one.
   */
  readonly token: () => string | Promise<string>;
  /**
   * Told of an answer that refuses the token, and when it was given by the platform's clock; whether
   * the call is to be made again, with another token.
   */
  readonly renew?: (at: number | undefined) => boolean;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/**
 * Why a call failed: `refused` for good; `limited` by a rate; `unavailable` if nothing can have
 * happened; `lost` if it may have been carried out nevertheless.
 */
export type FailureKind = "refused" | "limited" | "unavailable" | "lost";

/** A call that failed. */
export interface ApiFailure {
  readonly ok: false;
  readonly kind: FailureKind;
  /** One sentence without a full stop: the answer of the platform, and the remedy. */
  readonly message: string;
  /** Seconds to wait for at least, if the platform asks for a pause. */
  readonly retryAfterSecs?: number;
}

/** The kind of a call without an answer: reading changes nothing, so only other methods are `lost`. */
export function kindOfUnanswered({ mayHaveArrived }: Unanswered, method: string): FailureKind {
  return mayHaveArrived && method !== "GET" ? "lost" : "unavailable";
}

/** The JSON of an answer; `null` if it has none, or was cut. */
export function jsonOf({ text, cut }: Answered): unknown {
  if (cut || text.trim() === "") return null;
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

/** The JSON object of an answer; an empty one if it has none. */
export function objectOf(answer: Answered): JsonObject {
  const data = jsonOf(answer);
  return isJsonObject(data) ? data : {};
}

/** A failure as an error for a person at the terminal: `refused`, or `overloaded` if it may pass. */
export function apiError({ kind, message, retryAfterSecs }: ApiFailure): AppError {
  const code = kind === "refused" ? "refused" : "overloaded";
  return new AppError(code, message, defined({ retryAfterSecs }));
}
