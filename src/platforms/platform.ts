/**
 * The definition of a platform that sends webhooks, one file each: its signature and headers, its
 * handshakes, how its bodies are read, the ids of its events, and whether one request brings
 * several.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { Signature, SigningKey } from "../signatures/scheme.ts";

/** A platform that sends webhooks. */
export interface Platform {
  /** Name in manifests, `scheme: NAME`. */
  readonly name: string;
  readonly title: string;
  /**
   * Headers in which only this platform sends its signature, as it spells them; the first is the
   * default of `signatureHeader`. A trigger that names one of them belongs to this platform. Empty
   * if the signature is in the body: then the trigger has to name the platform.
   */
  readonly headers: readonly string[];
  /**
   * The default of `signatureHeader`, if other platforms use the same header: the trigger has to
   * name the platform.
   */
  readonly sharedHeader?: string;
  readonly signature: Signature;
  /** Whether `auto` accepts its signatures under its headers; never where SHA-1 makes them. */
  readonly auto: boolean;
  /**
   * Prefix of its header names, if its signature fits other senders too: the signature doctor then
   * proposes it only for a request with such a header.
   */
  readonly headerPrefix?: string;
  /**
   * The answer to a handshake that is authenticated like an event and starts nothing; `undefined`
   * for other requests. It depends on the payload alone: with a header that no signature covers,
   * any event could be made a handshake.
   *
   * @param payload The payload; of a list of one object, that object.
   * @param key The key that verified the request; absent where none did.
   */
  readonly handshake?: (payload: JsonObject, key?: SigningKey) => Handshake | undefined;
  /** Headers that it sends beside the signature, as it spells them. */
  readonly sends?: {
    /** The header with the type of the event. */
    readonly event?: string;
    /** The header with the id of the event or of the delivery. */
    readonly id?: string;
  };
  /** Its handshake before anything is signed. */
  readonly unsignedHandshake?: UnsignedHandshake;
  /** How its bodies are read, if not in the default way. */
  readonly body?: PlatformBody;
  /**
   * The field of the payload that lists events, if one request brings several; empty if the payload
   * itself may be that list.
   */
  readonly eventList?: string;
  /** Whether the payload of a request is a list of events, each with its own payload. */
  readonly isBatch?: (header: (name: string) => string | undefined) => boolean;
  /** The id of an event, which repetitions share; `undefined` when it has none. */
  readonly eventId?: (event: PlatformEvent) => EventId | undefined;
  /** Its cells in the tables of the documentation, in Markdown. */
  readonly docs: {
    /** The place of its secret, if not in a header alone. */
    readonly where?: string;
    /** The content and form of its signature. */
    readonly signs: string;
    /** The id of an event. */
    readonly eventId: string;
  };
}

/** The payload of a body: one JSON `object`, `any` JSON value, or the `text` itself. */
export type BodyKind = "object" | "any" | "text";

/** How the bodies of a platform are read, unless the trigger sets `body`. */
export interface PlatformBody {
  readonly kind?: BodyKind;
  /** Whether its bodies are JSON whatever their content type is. */
  readonly anyType?: boolean;
  /** Whether a body of kind `any` is a text if its content type is neither JSON nor a form. */
  readonly otherwiseText?: boolean;
}

/**
 * A handshake before anything is signed: with another method than POST, or without a signature. It
 * starts and changes nothing, so it tells a stranger at most which platform a trigger is for.
 */
export interface UnsignedHandshake {
  readonly method: "GET" | "HEAD" | "OPTIONS" | "POST";
  /**
   * The answer; a reason to refuse, if the platform authenticates its handshake and this one is not
   * authentic; `undefined` for other requests. Texts of the request in the answer have to be
   * {@linkcode echoable}.
   *
   * @param keys Every key of the trigger's SecretStore.
   */
  readonly answer: (
    request: UnsignedRequest,
    keys: readonly SigningKey[],
  ) => Handshake | { readonly refused: string } | undefined;
}

/** A request before its sender is known, with any body. */
export interface UnsignedRequest {
  readonly body: Uint8Array;
  /** A header by lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** Lower-case name of the trigger's signature header. */
  readonly signatureHeader: string;
  /** A decoded parameter of the query; `undefined` if it is missing or repeated. */
  readonly query: (name: string) => string | undefined;
}

/** One event of an authenticated request. */
export interface PlatformEvent {
  /** The payload, or the object in a list of one object, or an empty object. */
  readonly payload: JsonObject;
  /** A header of the request by lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** Lower-case name of the trigger's signature header; empty when it names none. */
  readonly signatureHeader: string;
  /** Whether a verified signature covers the payload. */
  readonly isSigned: boolean;
  /** Message id that such a signature covers beside the payload. */
  readonly messageId: string | undefined;
}

/** The id of an event. A later event with the same id is a duplicate. */
export interface EventId {
  /** The id itself, which is never empty. */
  readonly id: string;
  /** Whether a verified signature covers the id. */
  readonly signed: boolean;
}

/** An answer to a handshake. */
export type Handshake = HandshakeContent | { readonly status: 204 };

/** An answer with a body. */
export interface HandshakeContent {
  readonly status: 200;
  readonly type: "application/json" | "text/plain";
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** URL of the platform to visit before the answer; the verified signature has to cover it. */
  readonly visit?: string;
}

/** The usual answer to a handshake. */
export const PONG: HandshakeContent = {
  status: 200,
  type: "application/json",
  body: '{"status":"pong"}',
};

/** Most bytes of a body that an unsigned handshake may parse. */
export const MAX_UNSIGNED_BYTES = 1024;

/**
 * The value, if it is a text that can be sent back: bounded, and without characters that mean more
 * than text to a browser, a header or a terminal.
 */
export function echoable(value: unknown): string | undefined {
  return typeof value === "string" && ECHOABLE.test(value) ? value : undefined;
}

const ECHOABLE = /^[\w .,:;~+/=@!*()|-]{1,1024}$/;

/** The answer with this text as its body. */
export function echo(text: string): Handshake {
  return { status: 200, type: "text/plain", body: text };
}

/** Whether its signature is in the body and in no header. */
export function signsInBody({ headers, sharedHeader }: Platform): boolean {
  return headers.length === 0 && sharedHeader === undefined;
}

/** The default name of its signature's header, as the platform spells it. */
export function defaultHeader({ headers: [own], sharedHeader }: Platform): string {
  return own ?? sharedHeader ?? "Authorization";
}

/** The value, if it is an object. */
export function findObject(value: unknown): JsonObject | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? value as JsonObject : undefined;
}

/** The value, if it is a text and not empty. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** An id in the payload, signed if the payload is. */
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
