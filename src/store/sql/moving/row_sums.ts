/**
 * A sum over the rows of a table that does not depend on their order: the number of rows, and the sum of
 * their SHA-256 modulo 2^256. Two tables with the same rows have the same sum; one value changed, missing
 * or twice gives another one.
 *
 * @module
 */

import { sha256Hex } from "../../../base/bytes.ts";

const MODULUS = 1n << 256n;

/** The sum of a table. */
export interface TableSum {
  readonly rows: number;
  /** In hexadecimal digits. */
  readonly sum: string;
}

/** Adds up rows. */
export class RowSums {
  #rows = 0;
  #sum = 0n;

  /** Adds a row, as the bytes by which it is sent or comes back. */
  add(row: Uint8Array): void {
    this.#rows++;
    this.#sum = (this.#sum + BigInt(`0x${sha256Hex(row)}`)) % MODULUS;
  }

  get total(): TableSum {
    return { rows: this.#rows, sum: this.#sum.toString(16) };
  }
}
