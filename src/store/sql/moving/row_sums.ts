/**
 * A sum over the rows of a table that does not depend on their order: the number of rows, and the sum of
 * their hashes (XXH64) modulo 2^64. Two tables with the same rows have the same sum; one value changed,
 * missing or twice gives another one. It finds faults, not a server that lies.
 *
 * @module
 */

import xxhash from "xxhash-wasm";

/** The sum of a table. */
export interface TableSum {
  readonly rows: number;
  /** In hexadecimal digits. */
  readonly sum: string;
}

/** Gives what makes empty sums. */
export async function rowSums(): Promise<() => RowSums> {
  const { h64Raw } = await xxhash();
  return () => new RowSums(h64Raw);
}

/** Adds up rows. */
export class RowSums {
  readonly #hash: (row: Uint8Array) => bigint;
  #rows = 0;
  #sum = 0n;

  constructor(hash: (row: Uint8Array) => bigint) {
    this.#hash = hash;
  }

  /** Adds a row, as the bytes by which it is sent or comes back. */
  add(row: Uint8Array): void {
    this.#rows++;
    this.#sum = BigInt.asUintN(64, this.#sum + this.#hash(row));
  }

  get total(): TableSum {
    return { rows: this.#rows, sum: this.#sum.toString(16) };
  }
}
