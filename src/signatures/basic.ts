/**
 * Scheme `basic`: `Authorization: Basic <base64>` (RFC 7617). A value of the store is
 * `user:password`; a value without a colon or with an empty password is ignored. Nothing is signed,
 * so a reader of one request can send others: for platforms that offer no more.
 *
 * @module
 */

import { findBase64, toBase64, utf8 } from "../base/bytes.ts";
import { findSignature, namedScheme, refused, type Scheme, type SigningKey } from "./scheme.ts";
import { keyCannotSign } from "./templated_hmac.ts";
import { findMatchingToken } from "./token.ts";

/** The scheme `basic`: user and password of HTTP's Basic authentication. */
export const basicScheme: Scheme = namedScheme({
  name: "basic",
  defaultHeader: "Authorization",
}, {
  shows: "credential",
  takes: "user:password",
  verify(request, keys, options) {
    const value = findSignature(request, options);
    if (value === undefined) return Promise.resolve(refused("signature_header_missing"));
    const presented = findBase64(/^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(value)?.[1] ?? "=");
    if (presented === undefined) return Promise.resolve(refused("signature_malformed"));
    return Promise.resolve(findMatchingToken(presented, keys, hasPassword));
  },
  sign(_input, key, options) {
    if (!hasPassword(key)) return Promise.reject(keyCannotSign(key));
    return Promise.resolve({ [options.signatureHeader]: `Basic ${toBase64(utf8(key.value))}` });
  },
});

function hasPassword({ value }: SigningKey): boolean {
  return /^[^:]*:./s.test(value);
}
