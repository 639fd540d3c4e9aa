/**
 * What the program knows about one sending platform beside its signature (contract 3): how it greets
 * a new endpoint, what names an event, and whether one request brings several.
 *
 * @module
 */

import type { JsonObject } from "../../base/json.ts";

/** What is known of an authenticated, parsed request. */
export interface PlatformRequest {
  /** Headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed body. */
  readonly payload: JsonObject;
  /** SHA-256 of the exact body, for keys that the signature does not cover. */
  readonly bodyDigest: () => string;
}

/** An answer to a greeting. */
export interface Greeting {
  /** Content type of the answer. */
  readonly type: "application/json" | "text/plain";
  /** Body of the answer. */
  readonly body: string;
}

/** One platform; every member may be left out. */
export interface Platform {
  /** Name, as `platformOf` of `signatures/schemes.ts` gives it. */
  readonly name: string;
  /** The answer to a greeting, which starts nothing; `undefined` for everything else. */
  readonly greet?: (request: PlatformRequest) => Greeting | undefined;
  /** The events of a request that brings several, each a payload by itself. */
  readonly split?: (payload: JsonObject) => readonly JsonObject[];
  /** What names one event: the same again is a duplicate. `undefined` when it has no name. */
  readonly eventKey?: (request: PlatformRequest) => string | undefined;
}

/** A text that is there and not empty, to be used as a key. */
export function keyText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * A key from a header that the signature does not cover: joined with the body, so that a captured
 * body cannot be sent again under another id, nor a new body be stopped by a known id (security 2).
 */
export function unsignedKey(request: PlatformRequest, header: string): string | undefined {
  const id = Object.hasOwn(request.headers, header) ? keyText(request.headers[header]) : undefined;
  return id === undefined ? undefined : `${id} ${request.bodyDigest()}`;
}

/** The usual answer to a greeting. */
export const PONG: Greeting = { type: "application/json", body: '{"status":"pong"}' };
