/**
 * The tickets and keys of the console. A ticket opens it once and within a minute, and is exchanged
 * for a key. Both are 256 random bits, of which this process keeps a hash in memory.
 *
 * @module
 */

import { equalBytes, sha256Hex, toHex, utf8 } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";

/** Most keys at once, and most tickets; a newer one replaces the oldest. */
const MOST = 16;
export const TICKET_MS = 60_000;
export const KEY_MS = 12 * 60 * 60_000;

/** A ticket, which goes behind the `#` of a link. */
export interface Ticket {
  readonly text: string;
  /** Resolves with whether it was used, when it is no longer valid. */
  readonly over: Promise<boolean>;
}

/** A key of the page. */
export interface Key {
  readonly text: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

interface Entry {
  readonly hash: Uint8Array;
  readonly expiresAt: number;
  readonly end: (used: boolean) => void;
}

/** The tickets and keys of one console; disposing it ends them all. */
export class Sessions implements Disposable {
  readonly #clock: Clock;
  readonly #tickets: Entry[] = [];
  readonly #keys: Entry[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  issue(): Ticket {
    const { promise: over, resolve } = Promise.withResolvers<boolean>();
    const text = newSecret();
    const timer = this.#clock.after(TICKET_MS, () => this.#spend(text));
    add(this.#tickets, {
      hash: hashOf(text),
      expiresAt: this.#clock.now() + TICKET_MS,
      end(used) {
        timer[Symbol.dispose]();
        resolve(used);
      },
    });
    return { text, over };
  }

  /**
   * Exchanges a ticket, which is then used up, for a key; `undefined` for a ticket that is not
   * valid.
   */
  exchange(ticket: string): Key | undefined {
    if (!this.#spend(ticket)) return undefined;
    const text = newSecret();
    const expiresAt = this.#clock.now() + KEY_MS;
    add(this.#keys, { hash: hashOf(text), expiresAt, end() {} });
    return { text, expiresAt };
  }

  holds(key: string): boolean {
    const hash = hashOf(key);
    const now = this.#clock.now();
    return this.#keys.some((one) => equalBytes(one.hash, hash) && now < one.expiresAt);
  }

  [Symbol.dispose](): void {
    for (const { end } of [...this.#tickets.splice(0), ...this.#keys.splice(0)]) end(false);
  }

  /** Uses up a ticket; returns whether it was valid. */
  #spend(text: string): boolean {
    const hash = hashOf(text);
    const at = this.#tickets.findIndex((one) => equalBytes(one.hash, hash));
    const [ticket] = at === -1 ? [] : this.#tickets.splice(at, 1);
    if (ticket === undefined) return false;
    const isGood = this.#clock.now() < ticket.expiresAt;
    ticket.end(isGood);
    return isGood;
  }
}

function add(entries: Entry[], entry: Entry): void {
  if (entries.length === MOST) entries.shift()?.end(false);
  entries.push(entry);
}

/** 256 random bits in hexadecimal. */
function newSecret(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(32)));
}

function hashOf(text: string): Uint8Array {
  return utf8(sha256Hex(text));
}
