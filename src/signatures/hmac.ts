/**
 * HMAC with the values of a SecretStore, and the loop over keys that all HMAC schemes share.
 *
 * @module
 */

import { findBase64, findHex, utf8 } from "../base/bytes.ts";
import { type HmacKey, hmacKey, hmacOf, isHmacOf } from "./hmac_digest.ts";
import { type HmacHash, type KeyForm, type KeyMatch, refused, type SigningKey } from "./scheme.ts";

/** The HMAC of `data` under `key`; `undefined` when the key cannot be used in this form. */
export function hmac(
  hash: HmacHash,
  key: SigningKey,
  data: Uint8Array,
  form: KeyForm = "text",
): Uint8Array | undefined {
  const prepared = prepare(hash, key, form);
  return prepared === undefined ? undefined : hmacOf(prepared, data);
}

/** Prepared keys; an entry goes with the value of its store. */
const PREPARED = new WeakMap<SigningKey, Map<string, HmacKey>>();

/**
 * The key, prepared once for each hash and form; `undefined` when it cannot be used in this form.
 */
function prepare(hash: HmacHash, key: SigningKey, form: KeyForm): HmacKey | undefined {
  const use = `${hash} ${form}`;
  const cached = PREPARED.get(key)?.get(use);
  if (cached !== undefined) return cached;
  const bytes = keyBytes(key, form);
  if (bytes === undefined) return undefined;
  const prepared = hmacKey(hash, bytes);
  PREPARED.set(key, (PREPARED.get(key) ?? new Map<string, HmacKey>()).set(use, prepared));
  return prepared;
}

/** Signed data, and signatures of which one has to match. */
export interface ExpectedHmac {
  readonly data: Uint8Array;
  /** One signature, or several from a platform that sends several. */
  readonly expected: readonly Uint8Array[];
  readonly form?: KeyForm;
}

/** Finds the key whose HMAC of `data` is one of `expected`. Each HMAC is computed once. */
export function findMatchingKey(
  hash: HmacHash,
  keys: readonly SigningKey[],
  { data, expected, form = "text" }: ExpectedHmac,
): KeyMatch {
  let usable = false;
  for (const key of keys) {
    const prepared = prepare(hash, key, form);
    if (prepared === undefined) continue;
    usable = true;
    if (isHmacOf(prepared, data, expected)) return { ok: true, keyName: key.name };
  }
  return refused(usable ? "no_key_matches" : "no_usable_key");
}

/**
 * The bytes of a key; `undefined` for an empty key and for a public key, with which a stranger
 * could sign.
 */
function keyBytes(key: SigningKey, form: KeyForm): Uint8Array<ArrayBuffer> | undefined {
  if (key.value.startsWith("whpk_")) return undefined;
  const bytes = key.bytes ?? READ_KEY[form](key.value);
  return bytes === undefined || bytes.length === 0 ? undefined : bytes;
}

const READ_KEY: Readonly<Record<KeyForm, (value: string) => Uint8Array<ArrayBuffer> | undefined>> =
  {
    text: utf8,
    base64: findBase64,
    hex: findHex,
    whsec: (value) => findBase64(value.replace(/^whsec_/, "")),
  };
