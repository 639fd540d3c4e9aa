/**
 * Secrets that are sent as they are. Both sides are hashed before they are compared, so that the
 * time of a comparison does not reveal the length of the secret.
 *
 * @module
 */

import { equalBytes, latin1Bytes, sha256Hex, utf8 } from "../base/bytes.ts";
import { covering, refused, type SigningKey, type Verdict } from "./scheme.ts";

/**
 * Finds the key that equals `presented`; it covers nothing. Keys that are empty or not `usable` are
 * ignored.
 */
export function findMatchingToken(
  presented: Uint8Array,
  keys: readonly SigningKey[],
  usable: (key: SigningKey) => boolean = () => true,
): Verdict {
  const tried = keys.filter((key) => key.value !== "" && usable(key));
  if (tried.length === 0) return refused("no_usable_key");
  const digest = utf8(sha256Hex(presented));
  const match = tried.find((key) =>
    equalBytes(digest, utf8(sha256Hex(key.bytes ?? utf8(key.value))))
  );
  return match === undefined
    ? refused("no_key_matches")
    : covering({ ok: true, keyName: match.name }, { content: undefined });
}

/** The bytes of a header value, in which the server has one code unit for each byte. */
export function headerBytes(value: string): Uint8Array {
  return /[\u0100-\uffff]/.test(value) ? utf8(value) : latin1Bytes(value);
}
