/**
 * Which headers and fields of the query of a stored request are shown, and which are masked:
 * whatever signs it or says who sent it would let a reader send in that name.
 *
 * @module
 */

import { MASK } from "../../resources/secret_store.ts";

/** Parts of the names of headers that hold signatures, tokens and passwords, on any platform. */
const SECRET_NAME =
  /auth|cookie|token|secret|sign|hmac|digest|hash|passw|pwd|credential|session|jwt|bearer|csrf|xsrf|cert|otp|(^|[-_])sig($|[-_])|(^|[-_])(api|access|private|shared)?[-_]?key$/;
/** Names that only look so: ids, which a request that goes again needs. */
const ID_NAME = /^(x-)?idempotency-key$|^i-twilio-idempotency-token$/;
/** What a digest or a token looks like under a name of its sender's own. */
const SECRET_VALUE = /[0-9A-Fa-f]{32}|[A-Za-z0-9+/_-]{40}|[A-Za-z0-9+/]{26}==|[A-Za-z0-9+/]{42}=/;

/**
 * Headers as they may be shown.
 *
 * @param headers names in lower case
 * @param own further names that are masked: those that the trigger looks at
 */
export function maskHeaders(
  headers: Readonly<Record<string, string>>,
  own: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      own.includes(name) || isSecret(name, value) ? MASK : value,
    ]),
  );
}

/** The query of a URL as it may be shown: its values are masked as those of headers are. */
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
