/**
 * The definition of a sending platform, all in one file of its own: its signature and headers, its
 * handshake, how its bodies are read, the ids of its events, and whether one request brings several.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { Signature, SigningKey } from "../signatures/scheme.ts";

/** One platform. */
export interface Platform {
  /** Name in manifests, `scheme: NAME`. */
  readonly name: string;
  readonly title: string;
  /**
   * Headers in which only this platform sends its signature, as it spells them; the first is the
   * default of `signatureHeader`. A trigger with one of them is this platform's. None where the
   * signature stands in the body: then the platform has to be named.
   */
  readonly headers: readonly string[];
  /**
   * The default of `signatureHeader` where others use the same header: the platform has to be named.
   */
  readonly sharedHeader?: string;
  readonly signature: Signature;
  /** Whether `auto` accepts its signatures under its headers; never where SHA-1 makes them. */
  readonly auto: boolean;
  /**
   * Prefix of its header names, where its signature fits other senders, too: the signature doctor
   * then proposes it only for a request with such a header.
   */
  readonly headerPrefix?: string;
  /**
   * The answer to a handshake that is authenticated like an event, and starts nothing; `undefined`
   * for other requests. It depends on the payload alone: with a header that no signature covers, any
   * event could be made a handshake.
   *
   * @param payload The payload; of a list of one object, that object.
   * @param key The key that verified the request; absent where none did.
   */
  readonly handshake?: (payload: JsonObject, key?: SigningKey) => Handshake | undefined;
  /** Headers that it sends beside the signature, as it spells them; none when absent. */
  readonly sends?: {
    /** The one that names the type of the event. */
    readonly event?: string;
    /** The one that holds the id of the event or of the delivery. */
    readonly id?: string;
  };
  /** Its handshake that comes before anything is signed. */
  readonly unsignedHandshake?: UnsignedHandshake;
  /** How its bodies are read, where that differs from the default. */
  readonly body?: PlatformBody;
  /**
   * The field of the payload that lists events, where one request brings several; empty where the
   * payload itself may be that list.
   */
  readonly eventList?: string;
  /** Whether the payload of a request is a list of events, each by itself the payload of one. */
  readonly isBatch?: (header: (name: string) => string | undefined) => boolean;
  /** The id that an event and its repetitions share; `undefined` when it has none. */
  readonly eventId?: (event: PlatformEvent) => EventId | undefined;
  /** Its cells in the tables of the documentation, in Markdown. */
  readonly docs: {
    /** Where its secret is, if not in a header alone. */
    readonly where?: string;
    /** What its signature covers, and how it is written. */
    readonly signs: string;
    /** What the id of an event is. */
    readonly eventId: string;
  };
}

/**
 * What a body becomes: one JSON `object`, `any` JSON value, or the `text` itself.
 */
export type BodyKind = "object" | "any" | "text";

/** How the bodies of a platform are read; the trigger's `body` decides where it is set. */
export interface PlatformBody {
  readonly kind?: BodyKind;
  /** Whether its bodies are JSON whatever their content type says. */
  readonly anyType?: boolean;
  /** Whether a body of `any` kind is its text where its content type is neither JSON's nor a form's. */
  readonly otherwiseText?: boolean;
}

/**
 * A handshake that comes before anything is signed: with another method than POST, or without a
 * signature. It starts nothing and changes nothing, so at most it tells a stranger which platform a
 * trigger is for.
 */
export interface UnsignedHandshake {
  readonly method: "GET" | "HEAD" | "OPTIONS" | "POST";
  /**
   * The answer; a reason to refuse where the platform authenticates its handshake and this one is
   * not; `undefined` for other requests. What it reflects has to be {@linkcode echoable}.
   *
   * @param keys Every key of the trigger's SecretStore.
   */
  readonly answer: (
    request: UnsignedRequest,
    keys: readonly SigningKey[],
  ) => Handshake | { readonly refused: string } | undefined;
}

/** A request before its sender is known; its body may be anything. */
export interface UnsignedRequest {
  readonly body: Uint8Array;
  /** A header by lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** Lower-case name of the trigger's signature header. */
  readonly signatureHeader: string;
  /** A parameter of the query, decoded; `undefined` where it is missing or repeated. */
  readonly query: (name: string) => string | undefined;
}

/** One event of an authenticated request. */
export interface PlatformEvent {
  /** The payload; of a list of one object, that object; else an empty one. */
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
    readonly headers?: Readonly<Record<string, string>>;
    /**
     * A URL of the platform that has to be visited before the answer: only one that the verified
     * signature covers.
     */
    readonly visit?: string;
  }
  | { readonly status: 204 };

/** The usual answer to a handshake. */
export const PONG: Handshake = {
  status: 200,
  type: "application/json",
  body: '{"status":"pong"}',
};

/** Most bytes of a body that an unsigned handshake takes apart. */
export const MAX_UNSIGNED_BYTES = 1024;

/**
 * The value, when it is a text that can be sent back: bounded, and without what a browser, a header
 * or a terminal could take for more than text.
 */
export function echoable(value: unknown): string | undefined {
  return typeof value === "string" && ECHOABLE.test(value) ? value : undefined;
}

const ECHOABLE = /^[\w .,:;~+/=@!*()|-]{1,1024}$/;

/** The answer that is nothing but this text. */
export function echo(text: string): Handshake {
  return { status: 200, type: "text/plain", body: text };
}

/** Whether its signature stands in the body, and no header has one. */
export function signsInBody({ headers, sharedHeader }: Platform): boolean {
  return headers.length === 0 && sharedHeader === undefined;
}

/** The name of the header of its signature where a trigger names none, as the platform spells it. */
export function defaultHeader({ headers: [own], sharedHeader }: Platform): string {
  return own ?? sharedHeader ?? "Authorization";
}

/** The value, when it is an object. */
export function findObject(value: unknown): JsonObject | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? value as JsonObject : undefined;
}

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
