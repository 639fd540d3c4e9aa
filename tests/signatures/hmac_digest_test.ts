/**
 * HMACs by two one-shot hashes against `createHmac`, for keys and data around each boundary.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { hmacKey, hmacOf } from "../../src/signatures/hmac_digest.ts";

const HASHES = ["sha1", "sha256", "sha512"] as const;
/** Below, at and above a block of each hash function. */
const KEY_BYTES = [1, 20, 32, 63, 64, 65, 127, 128, 129, 500];
/** Below, at and above what is copied. */
const DATA_BYTES = [0, 1, 55, 56, 64, 2048, 65_535, 65_536, 65_537, 200_000];

const bytes = (length: number, seed: number) =>
  Uint8Array.from({ length }, (_, at) => (at * 31 + seed) % 256);

for (const hash of HASHES) {
  Deno.test(`${hash}: the HMAC is that of createHmac, whatever was signed before`, () => {
    for (const keyBytes of KEY_BYTES) {
      const key = bytes(keyBytes, keyBytes);
      const prepared = hmacKey(hash, key);
      for (const dataBytes of DATA_BYTES.concat(DATA_BYTES.toReversed())) {
        const data = bytes(dataBytes, 7);
        const expected = new Uint8Array(createHmac(hash, key).update(data).digest());
        deepEqual(new Uint8Array(hmacOf(prepared, data)), expected, `${keyBytes}, ${dataBytes}`);
      }
    }
  });
}
