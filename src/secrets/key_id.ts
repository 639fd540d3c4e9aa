/**
 * Tells one key from another without saying anything of it.
 *
 * @module
 */

import { toHex } from "../base/bytes.ts";
import type { Keyring } from "./keyring.ts";

const BYTES = 8;

/** The id of a key: the same in every data directory that has it. */
export async function keyIdOf(keyring: Keyring): Promise<string> {
  return toHex((await keyring.derive("key id")).subarray(0, BYTES));
}
