/**
 * The text form of HMAC digests in a header, with one part or several. The form is checked before
 * anything is decoded, so that a blank, a comma (which joins two header lines) or an additional
 * digit never reaches a comparison.
 *
 * @module
 */

import { findBase64, findHex, toBase64, toHex } from "../base/bytes.ts";
import type { DigestEncoding, DigestForm, HmacHash } from "./scheme.ts";

/** Bytes of a digest, by hash function. */
export const DIGEST_BYTES: Readonly<Record<HmacHash, number>> = {
  sha1: 20,
  sha256: 32,
  sha512: 64,
};

/** Most parts of a header value. */
const MAX_PARTS = 32;

/**
 * The parts of a header value; `undefined` when a part is empty or has a blank, as a second header
 * line would have.
 */
export function findParts(
  value: string,
  { separator }: Pick<DigestForm, "separator">,
): readonly string[] | undefined {
  if (separator === undefined) return [value];
  const parts = value.split(separator, MAX_PARTS + 1);
  return parts.length <= MAX_PARTS && parts.every((part) => /^[!-~]+$/.test(part))
    ? parts
    : undefined;
}

/**
 * The digests in the parts of a header value; `undefined` when there is none, or one does not have
 * exactly this form.
 */
export function findDigests(
  parts: readonly string[],
  form: DigestForm,
): readonly Uint8Array[] | undefined {
  const digests: Uint8Array[] = [];
  for (const part of parts) {
    if (!part.startsWith(form.prefix)) {
      if (form.separator === undefined) return undefined;
      continue;
    }
    const bytes = READ[form.encoding](part.slice(form.prefix.length));
    if (bytes?.length !== DIGEST_BYTES[form.hash]) return undefined;
    digests.push(bytes);
  }
  return digests.length === 0 ? undefined : digests;
}

const READ: Readonly<Record<DigestEncoding, (text: string) => Uint8Array | undefined>> = {
  hex: findHex,
  base64: findBase64,
  base64url: findBase64Url,
};

/** The bytes of base64url, with or without padding. */
export function findBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*={0,2}$/.test(text)) return undefined;
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  return findBase64(
    standard.endsWith("=") ? standard : standard.padEnd(Math.ceil(text.length / 4) * 4, "="),
  );
}

/** A digest in the form for a header. */
export function writeDigest(digest: Uint8Array, { encoding, prefix }: DigestForm): string {
  if (encoding === "hex") return prefix + toHex(digest);
  return prefix + (encoding === "base64" ? toBase64(digest) : toBase64Url(digest));
}

/** Bytes as base64url, without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
