/**
 * Masks the headers and query fields of a stored request with which a reader could forge a request
 * of the sender.
 *
 * @module
 */

import { MASK } from "../../resources/names.ts";
import { findTime } from "../../signatures/timestamp.ts";

/** Parts of header names that hold signatures, tokens and passwords, on any platform. */
const SECRET_NAME =
  /auth|cookie|token|secret|sign|hmac|digest|hash|passw|pwd|credential|session|jwt|bearer|csrf|xsrf|cert|otp|^x-trello-webhook$|(^|[-_])sig($|[-_])|(^|[-_])(api|access|private|shared)?[-_]?key$/;
/** Names that match although they hold no secret: ids, which a resent request needs. */
const ID_NAME = /^(x-)?idempotency-key$|^i-twilio-idempotency-token$/;
/** A value that looks like a digest or a token, whatever its header is called. */
const SECRET_VALUE = /[0-9A-Fa-f]{32}|[A-Za-z0-9+/_-]{40}|[A-Za-z0-9+/]{26}==|[A-Za-z0-9+/]{42}=/;

/**
 * Headers as they may be shown.
 *
 * @param headers names in lower case
 * @param own further names to mask: the headers that the trigger uses
 */
export function maskHeaders(
  headers: Readonly<Record<string, string>>,
  own: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      own.includes(name) || isSecret(name, value) ? withoutSecrets(name, value) : value,
    ]),
  );
}

/** A header that holds the time of signing and nothing else. */
const TIME_NAME = /(^|-)(timestamp|time|date)$/;
/** The time of signing in a header that also holds signatures, as Stripe writes it. */
const TIME_PART = /^(t|ts|time|timestamp)=[0-9]{10,13}$/;

/** A masked value; the time of signing is no secret, and says why a request was refused. */
function withoutSecrets(name: string, value: string): string {
  if (TIME_NAME.test(name) && findTime(value) !== undefined) return value;
  const parts = value.split(/([,;] ?| )/);
  if (!parts.some((part) => TIME_PART.test(part))) return MASK;
  return parts.map((part, at) => at % 2 === 1 || TIME_PART.test(part) ? part : MASK).join("");
}

/** The query of a URL, its values masked by the same rules as headers. */
export function maskQuery(query: string): string {
  return query.split("&").map((field) => {
    const [name = "", ...rest] = field.split("=");
    if (rest.length === 0) return SECRET_VALUE.test(decoded(name)) ? MASK : field;
    const value = rest.join("=");
    return isSecret(decoded(name).toLowerCase(), decoded(value)) ? `${name}=${MASK}` : field;
  }).join("&");
}

function isSecret(name: string, value: string): boolean {
  return !ID_NAME.test(name) && (SECRET_NAME.test(name) || SECRET_VALUE.test(value));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no percent-encoding
  }
}
