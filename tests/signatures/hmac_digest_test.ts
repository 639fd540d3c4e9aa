/**
 * HMACs by two one-shot hashes against `createHmac`, for keys and data around each boundary.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { hmacKey, hmacOf, isHmacOf } from "../../src/signatures/hmac_digest.ts";

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

  Deno.test(`${hash}: compared with several, one has to be equal in every byte`, () => {
    const prepared = hmacKey(hash, bytes(40, 3));
    for (const length of [2048, 65_537]) {
      const right = hmacOf(prepared, bytes(length, 7));
      const wrong = right.with(right.length - 1, (right.at(-1) ?? 0) ^ 1);
      const other = hmacOf(prepared, bytes(length, 8));
      equal(isHmacOf(prepared, bytes(length, 7), [wrong, right]), true);
      equal(isHmacOf(prepared, bytes(length, 8), [wrong, right]), false, "after a match");
      equal(isHmacOf(prepared, bytes(length, 7), [wrong, other, right.subarray(1)]), false);
      equal(isHmacOf(prepared, bytes(length, 7), []), false);
    }
  });
}
