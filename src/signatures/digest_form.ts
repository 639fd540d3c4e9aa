/**
 * The text form of an HMAC digest in a header. The form is checked before anything is decoded, so
 * that a blank, a comma (two header lines arrive joined by one) or a stray digit never reaches a
 * comparison.
 *
 * @module
 */

import { findBase64, findHex, toBase64, toHex } from "../base/bytes.ts";
import type { DigestForm, HmacHash } from "./scheme.ts";

/** Bytes of a digest, by hash function. */
export const DIGEST_BYTES: Readonly<Record<HmacHash, number>> = {
  sha1: 20,
  sha256: 32,
  sha512: 64,
};

/** The digest in a header value; `undefined` when it is not exactly of this form. */
export function findDigest(value: string, form: DigestForm): Uint8Array<ArrayBuffer> | undefined {
  if (!value.startsWith(form.prefix)) return undefined;
  const written = value.slice(form.prefix.length);
  const bytes = form.encoding === "hex" ? findHex(written) : findBase64(written);
  return bytes?.length === DIGEST_BYTES[form.hash] ? bytes : undefined;
}

/** A digest as it stands in a header. */
export function writeDigest(digest: Uint8Array, form: DigestForm): string {
  return form.prefix + (form.encoding === "hex" ? toHex(digest) : toBase64(digest));
}
