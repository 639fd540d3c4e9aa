/**
 * Scheme `bearer`: `Authorization: Bearer <token>` (RFC 6750), the token being a value of the
 * store; some platforms write `Token` for `Bearer`. In a header of its own (`X-Telegram-Bot-Api-Secret-Token`) the token stands alone.
 *
 * Nothing is signed: a captor of one request can send others. For platforms that offer no more.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { findSignature, namedScheme, refused, type Scheme } from "./scheme.ts";
import { findMatchingToken } from "./token.ts";

/** Visible ASCII without the comma that two header lines are joined by. */
const TOKEN = /^[!-+\--~]+$/;

/** The scheme `bearer`. */
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
