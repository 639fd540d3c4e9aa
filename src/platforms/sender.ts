/**
 * A request as its sender would make it: signed, with the type of its body, the event and an id.
 * For trying out a trigger; no received request passes through here.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import type { Scheme, SchemeOptions, SigningInput, SigningKey } from "../signatures/scheme.ts";
import type { Platform } from "./platform.ts";

const FORM_TYPE = "application/x-www-form-urlencoded";

/** A sender and its signature. */
export interface Sender {
  readonly scheme: Scheme;
  readonly options: SchemeOptions;
  /** Its platform; `undefined` for a sender of no platform. */
  readonly platform: Platform | undefined;
}

/** The request to make. */
export interface Message extends SigningInput {
  /** `Content-Type`; when absent, the type of a form if the body is one, else JSON. */
  readonly contentType?: string;
  /** Type of the event, for platforms that send it in a header. */
  readonly event?: string;
}

/** A request that is ready to be sent. */
export interface OutgoingRequest {
  /** The URL, with additions of the platform. */
  readonly url: string;
  /** Headers as the sender spells them. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Makes the request of a sender, signed with a key, or unsigned without a key.
 *
 * @throws {AppError} `refused` when only the sender itself can sign so; `usage` if an event is
 * given and the platform has no header for it; `invalid` when the key cannot sign, or a value fits
 * into no header.
 */
export async function makeRequest(
  sender: Sender,
  message: Message,
  key: SigningKey | undefined,
): Promise<OutgoingRequest> {
  const { scheme, options } = sender;
  const { body, contentType = typeOf(body) } = message;
  const url = scheme.sentUrl !== undefined && contentType !== FORM_TYPE
    ? scheme.sentUrl(message.url, body)
    : message.url;
  const signed = key === undefined ? {} : await signerOf(scheme)({ ...message, url }, key, options);
  const headers = { "Content-Type": contentType, ...namesOf(sender, message), ...signed };
  checkHeaders(headers);
  return { url, headers };
}

/**
 * The function with which a scheme signs.
 *
 * @throws {AppError} `refused` when only the sender itself can sign so, with the reason.
 */
export function signerOf(scheme: Scheme): NonNullable<Scheme["sign"]> {
  if (scheme.sign !== undefined) return scheme.sign;
  throw new AppError("refused", `Cannot sign: ${scheme.cannotSign}`);
}

/** The headers that name the event and the delivery. */
function namesOf({ platform }: Sender, { event, id }: Message): Record<string, string> {
  const { sends = {}, title = "This sender" } = platform ?? {};
  if (event !== undefined && sends.event === undefined) {
    const message = `${title} has no header that svc knows for the event: give it with --header, ` +
      "or in the body";
    throw new AppError("usage", message);
  }
  const names: Record<string, string> = {};
  if (event !== undefined && sends.event !== undefined) names[sends.event] = event;
  if (sends.id !== undefined) names[sends.id] = id;
  return names;
}

function typeOf(body: Uint8Array): string {
  return /^[A-Za-z0-9._%+-]+=/.test(findText(body) ?? "") ? FORM_TYPE : "application/json";
}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[\x20-\x7e]*$/.test(value)) continue;
    throw new AppError("invalid", `The value of ${name} has characters that a header cannot hold`);
  }
}

/**
 * The key with which a sender most likely signs: the key that matched last, or else the newest,
 * which is the last of its store.
 *
 * @param keys In the order of their store; `lastAt` in milliseconds since the epoch, 0 when a key
 * never matched.
 */
export function likeliestKey<Key extends SigningKey & { readonly lastAt: number }>(
  keys: readonly Key[],
): Key | undefined {
  return keys.reduce<Key | undefined>(
    (best, one) => best === undefined || one.lastAt >= best.lastAt ? one : best,
    undefined,
  );
}
