/**
 * What the program knows about one sending platform beside its signature (contract 3): how it greets
 * a new endpoint, what names an event, and whether one request brings several.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";

/** One event of an authenticated request. */
export interface PlatformEvent {
  /** Its payload. */
  readonly payload: JsonObject;
  /** A header of the request by lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** Lower-case name of the trigger's signature header; empty when it names none. */
  readonly signatureHeader: string;
  /** Whether a signature that was verified covers the payload. */
  readonly isSigned: boolean;
  /** Id that such a signature covers beside the payload, if any. */
  readonly messageId: string | undefined;
}

/** What names an event: the same again is a duplicate. */
export interface EventName {
  /** Its id; never empty. */
  readonly id: string;
  /** Whether a signature that was verified covers the id. */
  readonly signed: boolean;
}

/** An answer to a handshake. */
export type Handshake =
  | {
    readonly status: 200;
    readonly type: "application/json" | "text/plain";
    readonly body: string;
  }
  | { readonly status: 204 };

/** One platform; every member may be left out. */
export interface Platform {
  /** Name, as `platformOf` of `signatures/schemes.ts` gives it. */
  readonly name: string;
  /**
   * The answer to a handshake, which starts nothing; `undefined` for everything else. Goes by the
   * payload alone: a header that no signature covers could make a handshake out of any event.
   */
  readonly handshake?: (payload: JsonObject) => Handshake | undefined;
  /** The field of the payload that lists events, where one request brings several. */
  readonly eventList?: string;
  /** What names one event; `undefined` when it has no name. */
  readonly eventName?: (event: PlatformEvent) => EventName | undefined;
}

/** A text that is there and not empty. */
export function findWord(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** An id in the payload, which is signed where the content is. */
export function payloadName(value: unknown, { isSigned }: PlatformEvent): EventName | undefined {
  const id = findWord(value);
  return id === undefined ? undefined : { id, signed: isSigned };
}

/** An id in a header, which no signature covers. */
export function headerName(header: string, event: PlatformEvent): EventName | undefined {
  const id = findWord(event.header(header));
  return id === undefined ? undefined : { id, signed: false };
}

/** The id that the scheme signs beside the body. */
export function messageName({ messageId }: PlatformEvent): EventName | undefined {
  return messageId === undefined ? undefined : { id: messageId, signed: true };
}

/** The usual answer to a handshake. */
export const PONG: Handshake = {
  status: 200,
  type: "application/json",
  body: '{"status":"pong"}',
};
