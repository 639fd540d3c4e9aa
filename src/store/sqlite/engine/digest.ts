/**
 * Digests that stand for a few texts: keys come from outside and can be long.
 *
 * @module
 */

import { hash } from "node:crypto";

/** SHA-256 over texts; JSON keeps them apart. */
export function digestOf(...texts: readonly string[]): Uint8Array {
  return hash("sha256", JSON.stringify(texts), "buffer");
}
