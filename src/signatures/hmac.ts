/**
 * HMAC over Web Crypto, and the one loop over keys that every HMAC scheme shares.
 *
 * @module
 */

import { equalBytes, utf8 } from "../base/bytes.ts";
import { refused, type SigningKey, type Verdict } from "./scheme.ts";

/** Hash functions an HMAC can be made with. */
export type HmacHash = "SHA-1" | "SHA-256" | "SHA-512";

/** Imported keys, by the object that holds the secret: they go when the secret goes. */
const imported = new WeakMap<SigningKey, Map<string, Promise<CryptoKey>>>();

/** The HMAC of `data` under the secret of `key`, as UTF-8. */
export async function hmac(
  hash: HmacHash,
  key: SigningKey,
  data: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  const known = imported.get(key) ?? new Map<string, Promise<CryptoKey>>();
  imported.set(key, known);
  const cryptoKey = known.get(hash) ?? importKey(hash, utf8(key.value));
  known.set(hash, cryptoKey);
  return new Uint8Array(await crypto.subtle.sign("HMAC", await cryptoKey, data));
}

/** Which key gives `expected` over `data`; an empty key can be computed by anyone and is passed over. */
export async function findMatchingKey(
  hash: HmacHash,
  keys: readonly SigningKey[],
  signed: { readonly data: Uint8Array<ArrayBuffer>; readonly expected: Uint8Array },
): Promise<Verdict> {
  const usable = keys.filter((key) => key.value !== "");
  if (usable.length === 0) return refused("no_usable_key");
  for (const key of usable) {
    if (equalBytes(await hmac(hash, key, signed.data), signed.expected)) {
      return { ok: true, keyName: key.name };
    }
  }
  return refused("no_key_matches");
}

function importKey(hash: HmacHash, raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", raw, { name: "HMAC", hash }, false, ["sign"]);
}
