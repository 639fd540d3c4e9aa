/**
 * HMAC over Web Crypto, and the one loop over keys that every HMAC scheme shares.
 *
 * @module
 */

import { equalBytes, findBase64, utf8 } from "../base/bytes.ts";
import { type HmacHash, refused, type SigningKey, type Verdict } from "./scheme.ts";

/**
 * How a value of a SecretStore becomes the bytes of a key: `text` its UTF-8, `whsec` the bytes that
 * Standard Webhooks writes in base64, after `whsec_` or bare.
 */
export type KeyForm = "text" | "whsec";

/** Imported keys, by the object that holds the secret: they go when the secret goes. */
const imported = new WeakMap<SigningKey, Map<string, Promise<CryptoKey>>>();

/** The HMAC of `data` under `key`; `undefined` when the key is not usable in this form. */
export async function hmac(
  hash: HmacHash,
  key: SigningKey,
  data: Uint8Array<ArrayBuffer>,
  form: KeyForm = "text",
): Promise<Uint8Array | undefined> {
  const cryptoKey = importedKey(hash, key, form);
  if (cryptoKey === undefined) return undefined;
  return new Uint8Array(await crypto.subtle.sign("HMAC", await cryptoKey, data));
}

/** What has to be signed, and the signatures of which one has to be right. */
export interface ExpectedHmac {
  /** The signed bytes. */
  readonly data: Uint8Array<ArrayBuffer>;
  /** One signature, or several where a platform sends several. */
  readonly expected: readonly Uint8Array[];
  /** How values become keys. */
  readonly form?: KeyForm;
}

/** Which key gives one of `expected` over `data`; each key is computed once. */
export async function findMatchingKey(
  hash: HmacHash,
  keys: readonly SigningKey[],
  { data, expected, form }: ExpectedHmac,
): Promise<Verdict> {
  let usable = false;
  for (const key of keys) {
    const digest = await hmac(hash, key, data, form);
    if (digest === undefined) continue;
    usable = true;
    if (expected.some((one) => equalBytes(digest, one))) return { ok: true, keyName: key.name };
  }
  return refused(usable ? "no_key_matches" : "no_usable_key");
}

function importedKey(hash: HmacHash, key: SigningKey, form: KeyForm) {
  const known = imported.get(key) ?? new Map<string, Promise<CryptoKey>>();
  imported.set(key, known);
  const id = `${hash} ${form}`;
  const found = known.get(id);
  if (found !== undefined) return found;
  const bytes = keyBytes(key, form);
  if (bytes === undefined) return undefined;
  const made = crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash }, false, ["sign"]);
  known.set(id, made);
  return made;
}

/** An empty key and a public key are known to everyone: whoever holds them could sign. */
function keyBytes(key: SigningKey, form: KeyForm): Uint8Array<ArrayBuffer> | undefined {
  if (key.value.startsWith("whpk_")) return undefined;
  const bytes = key.bytes ??
    (form === "text" ? utf8(key.value) : findBase64(key.value.replace(/^whsec_/, "")));
  return bytes === undefined || bytes.length === 0 ? undefined : bytes;
}
