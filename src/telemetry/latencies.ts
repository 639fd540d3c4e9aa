/**
 * Latencies of one minute, of which only percentiles are asked. Taking one is an addition; a
 * percentile is at most a sixteenth too high.
 *
 * @module
 */

/** Milliseconds that have a count of their own; above, each doubling is divided into {@linkcode PARTS}. */
const EXACT = 32;
const PARTS = 16;
/** Doublings from 32 ms to 72 minutes; what takes longer counts as that. */
const DOUBLINGS = 17;
const COUNTS = EXACT + PARTS * DOUBLINGS;

/** Counts of latencies. */
export class Latencies {
  readonly #counts = new Uint32Array(COUNTS);
  #total = 0;

  /** Takes one, in milliseconds. */
  add(ms: number): void {
    const at = indexOf(Math.max(0, Math.round(ms)));
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#total++;
  }

  /** The least latency that so large a part of them does not exceed; `undefined` when there are none. */
  percentile(part: number): number | undefined {
    if (this.#total === 0) return undefined;
    let left = Math.ceil(this.#total * part);
    let at = 0;
    for (; at < COUNTS - 1; at++) {
      left -= this.#counts[at] ?? 0;
      if (left <= 0) break;
    }
    return longestAt(at);
  }

  /** Forgets all. */
  clear(): void {
    if (this.#total === 0) return;
    this.#counts.fill(0);
    this.#total = 0;
  }
}

function indexOf(ms: number): number {
  if (ms < EXACT) return ms;
  const doubling = Math.floor(Math.log2(ms / EXACT));
  const part = Math.floor((ms / (EXACT * 2 ** doubling) - 1) * PARTS);
  return Math.min(COUNTS - 1, EXACT + doubling * PARTS + part);
}

/** The longest latency that counts here. */
function longestAt(index: number): number {
  if (index < EXACT) return index;
  const doubling = Math.floor((index - EXACT) / PARTS);
  const part = (index - EXACT) % PARTS;
  return EXACT * 2 ** doubling * (1 + (part + 1) / PARTS) - 1;
}
