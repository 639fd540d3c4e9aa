/**
 * The definition of a sending platform, all in one file of its own: its signature and headers, its
 * handshake, the ids of its events, and whether one request brings several.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { Signature } from "../signatures/scheme.ts";

/** One platform. */
export interface Platform {
  /** Name in manifests, `scheme: NAME`. */
  readonly name: string;
  readonly title: string;
  /**
   * Headers in which only this platform sends its signature, as it spells them; the first is the
   * default of `signatureHeader`. A trigger with one of them is this platform's.
   */
  readonly headers: readonly [string, ...string[]];
  readonly signature: Signature;
  /** Whether `auto` accepts its signatures under its headers; never where SHA-1 makes them. */
  readonly auto: boolean;
  /**
   * Prefix of its header names, where its signature fits other senders, too: the signature doctor
   * then proposes it only for a request with such a header.
   */
  readonly headerPrefix?: string;
  /**
   * The answer to a handshake, which starts nothing; `undefined` for other requests. It depends on
   * the payload alone: with a header that no signature covers, any event could be made a handshake.
   */
  readonly handshake?: (payload: JsonObject) => Handshake | undefined;
  /** Headers that it sends beside the signature, as it spells them; none when absent. */
  readonly sends?: {
    /** The one that names the type of the event. */
    readonly event?: string;
    /** The one that holds the id of the event or of the delivery. */
    readonly id?: string;
  };
  /** The field of the payload that lists events, where one request brings several. */
  readonly eventList?: string;
  /** The id that an event and its repetitions share; `undefined` when it has none. */
  readonly eventId?: (event: PlatformEvent) => EventId | undefined;
  /** Its cells in the tables of the documentation, in Markdown. */
  readonly docs: {
    /** What its signature covers, and how it is written. */
    readonly signs: string;
    /** What the id of an event is. */
    readonly eventId: string;
  };
}

/** One event of an authenticated request. */
export interface PlatformEvent {
  readonly payload: JsonObject;
  /** A header of the request by lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** Lower-case name of the trigger's signature header; empty when it names none. */
  readonly signatureHeader: string;
  /** Whether a verified signature covers the payload. */
  readonly isSigned: boolean;
  /** Message id that such a signature covers beside the payload, if any. */
  readonly messageId: string | undefined;
}

/** The id of an event: an event with the id of an earlier one is a duplicate. */
export interface EventId {
  /** Never empty. */
  readonly id: string;
  /** Whether a verified signature covers the id. */
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

/** The usual answer to a handshake. */
export const PONG: Handshake = {
  status: 200,
  type: "application/json",
  body: '{"status":"pong"}',
};

/** The value, when it is a text and not empty. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** An id in the payload, which is signed where the payload is. */
export function payloadId(value: unknown, { isSigned }: PlatformEvent): EventId | undefined {
  const id = nonEmptyText(value);
  return id === undefined ? undefined : { id, signed: isSigned };
}

/** An id in a header, which no signature covers. */
export function headerId(header: string, event: PlatformEvent): EventId | undefined {
  const id = nonEmptyText(event.header(header));
  return id === undefined ? undefined : { id, signed: false };
}

/** The id that the signature covers beside the payload. */
export function signedId({ messageId }: PlatformEvent): EventId | undefined {
  return messageId === undefined ? undefined : { id: messageId, signed: true };
}
