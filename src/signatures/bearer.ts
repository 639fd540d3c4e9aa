/**
 * Scheme `bearer`: `Authorization: Bearer <token>` (RFC 6750), with a value of the store as token;
 * some platforms write `Token` for `Bearer`. A header only for the token (`X-Telegram-Bot-Api-
 * Secret-Token`) holds it alone. Nothing is signed, so a reader of one request can send others:
 * for platforms that offer no more.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { findSignature, namedScheme, refused, type Scheme } from "./scheme.ts";
import { findMatchingToken } from "./token.ts";

/** Visible ASCII without the comma, which joins two header lines. */
const TOKEN = /^[!-+\--~]+$/;

/** The scheme `bearer`: a token in the header `Authorization` or another one. */
export const bearerScheme: Scheme = namedScheme({
  name: "bearer",
  defaultHeader: "Authorization",
}, {
  shows: "token",
  verify(request, keys, options) {
    const value = findSignature(request, options);
    if (value === undefined) return Promise.resolve(refused("signature_header_missing"));
    const token = findToken(value, options.signatureHeader);
    if (token === undefined) return Promise.resolve(refused("signature_malformed"));
    return Promise.resolve(findMatchingToken(utf8(token), keys));
  },
  sign(_input, key, options) {
    if (!TOKEN.test(key.value)) {
      const message = `Key "${key.name}" is empty or has characters that bearer tokens cannot have`;
      return Promise.reject(new AppError("invalid", message));
    }
    const scheme = options.signatureHeader === "authorization" ? "Bearer " : "";
    return Promise.resolve({ [options.signatureHeader]: `${scheme}${key.value}` });
  },
});

function findToken(value: string, header: string): string | undefined {
  const named = /^(?:Bearer|Token) (.*)$/i.exec(value)?.[1];
  const token = header === "authorization" ? named : named ?? value;
  return token !== undefined && TOKEN.test(token) ? token : undefined;
}
