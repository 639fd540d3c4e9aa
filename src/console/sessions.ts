/**
 * Who may use the console: tickets, which open it once and within a minute, and the keys they are
 * exchanged for. Both are 256 random bits, kept as a hash in the memory of this process only.
 *
 * @module
 */

import { equalBytes, sha256Hex, toHex, utf8 } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";

/** Most keys at once, and most tickets; the oldest goes for a newer one. */
const MOST = 16;
/** How long a ticket is good. */
export const TICKET_MS = 60_000;
/** How long a key is good. */
export const KEY_MS = 12 * 60 * 60_000;

/** A ticket, to be put behind the `#` of a link. */
export interface Ticket {
  readonly text: string;
  /** Resolves when it is good no more, with whether it was used. */
  readonly over: Promise<boolean>;
}

/** A key of the page. */
export interface Key {
  readonly text: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/** One ticket or key. */
interface Entry {
  /** Of its text. */
  readonly hash: Uint8Array;
  readonly expiresAt: number;
  readonly end: (used: boolean) => void;
}

/** The tickets and keys of one console; disposing it ends them all. */
export class Sessions implements Disposable {
  readonly #clock: Clock;
  readonly #tickets: Entry[] = [];
  readonly #keys: Entry[] = [];

  /** Reads the time from `clock`. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A new ticket. */
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

  /** A key for a ticket, which is good no more; `undefined` when it was not good. */
  exchange(ticket: string): Key | undefined {
    if (!this.#spend(ticket)) return undefined;
    const text = newSecret();
    const expiresAt = this.#clock.now() + KEY_MS;
    add(this.#keys, { hash: hashOf(text), expiresAt, end() {} });
    return { text, expiresAt };
  }

  /** Whether a key is good. */
  holds(key: string): boolean {
    const hash = hashOf(key);
    const now = this.#clock.now();
    return this.#keys.some((one) => equalBytes(one.hash, hash) && now < one.expiresAt);
  }

  [Symbol.dispose](): void {
    for (const { end } of [...this.#tickets.splice(0), ...this.#keys.splice(0)]) end(false);
  }

  /** Takes a ticket out; whether it was good. */
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

/** 256 bits. */
function newSecret(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(32)));
}

function hashOf(text: string): Uint8Array {
  return utf8(sha256Hex(text));
}
