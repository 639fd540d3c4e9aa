/**
 * A sum over the rows of a table that does not depend on their order: the number of rows, and the sum of
 * their SHA-256 modulo 2^256. Two tables with the same rows have the same sum; one value changed, missing
 * or twice gives another one.
 *
 * @module
 */

import { sha256Hex } from "../../../base/bytes.ts";
import type { Row } from "../row.ts";

const MODULUS = 1n << 256n;

/** The sum of a table. */
export interface TableSum {
  readonly rows: number;
  /** In hexadecimal digits. */
  readonly sum: string;
}

/** Adds up rows, of which it takes these columns. */
export class RowSums {
  readonly #columns: readonly string[];
  #rows = 0;
  #sum = 0n;

  constructor(columns: readonly string[]) {
    this.#columns = columns;
  }

  /** Adds a row. For long bytes, {@linkcode hashOf} may stand in their place. */
  add(row: Row): void {
    const values = this.#columns.map((name) => {
      const value = row[name];
      return value instanceof Uint8Array ? hashOf(value) : value ?? null;
    });
    this.#rows++;
    this.#sum = (this.#sum + BigInt(`0x${sha256Hex(JSON.stringify(values))}`)) % MODULUS;
  }

  get total(): TableSum {
    return { rows: this.#rows, sum: this.#sum.toString(16) };
  }
}

/** Bytes as they are hashed in a row. */
export const hashOf = (bytes: Uint8Array): string => sha256Hex(bytes);
