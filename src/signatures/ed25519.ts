/**
 * Ed25519 with Web Crypto, for platforms that sign with a private key. The store holds their public
 * key, which must never be the key of an HMAC.
 *
 * @module
 */

import { type KeyMatch, refused, type SigningKey } from "./scheme.ts";

/** Imported keys, by the object that holds the text; only valid keys. */
const imported = new WeakMap<SigningKey, Promise<CryptoKey | undefined>>();

/** Signed data, its signatures, and how to read a key. */
export interface SignedData {
  readonly data: Uint8Array<ArrayBuffer>;
  /** Signatures, of which one has to be valid. */
  readonly signatures: readonly Uint8Array<ArrayBuffer>[];
  /** The public key in a value of the store; `undefined` when it holds none. */
  readonly readKey: (value: string) => Uint8Array<ArrayBuffer> | undefined;
}

/** Finds the key that verifies one of the signatures; values that are no public key are ignored. */
export async function findSigner(
  keys: readonly SigningKey[],
  { data, signatures, readKey }: SignedData,
): Promise<KeyMatch> {
  let usable = false;
  for (const key of keys) {
    const publicKey = await importedKey(key, readKey(key.value));
    if (publicKey === undefined) continue;
    usable = true;
    for (const signature of signatures) {
      if (await crypto.subtle.verify("Ed25519", publicKey, signature, data)) {
        return { ok: true, keyName: key.name };
      }
    }
  }
  return refused(usable ? "no_key_matches" : "no_usable_key");
}

async function importedKey(key: SigningKey, raw: Uint8Array<ArrayBuffer> | undefined) {
  // All zeros is a point of small order, under which one signature can be valid for many texts.
  if (raw?.length !== 32 || raw.every((byte) => byte === 0)) return undefined;
  const cached = imported.get(key);
  if (cached !== undefined) return await cached;
  const promise = crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"])
    .catch(() => undefined);
  imported.set(key, promise);
  return await promise;
}
