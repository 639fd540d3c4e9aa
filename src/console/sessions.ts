/**
 * The tickets and keys of the console. A ticket opens it once and within a minute, and is exchanged
 * for a key. Both are 256 random bits, of which this process keeps a hash in memory.
 *
 * @module
 */

import { equalBytes, equalSecrets, sha256Hex, toHex, utf8 } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";

/** Most keys of one holder at once, and most tickets; a newer one replaces the oldest. */
const MOST = 16;
export const TICKET_MS = 60_000;
export const KEY_MS = 12 * 60 * 60_000;

/** Who has logged in. */
export interface Holder {
  /** Name of the Person at the login. */
  readonly person: string;
  /** Which the daemon is told with each call: it knows whose it is by then. */
  readonly identity: string;
}

/** Whom a ticket is for, and what has to come with it. */
export interface TicketFor {
  readonly holder: Holder;
  /** The cookie of the login. */
  readonly cookie: string;
}

/** A ticket, which goes behind the `#` of a link. */
export interface Ticket {
  readonly text: string;
  /** Resolves with whether it was used, when it is no longer valid. */
  readonly over: Promise<boolean>;
}

/** A key of the page. */
export interface Key {
  readonly text: string;
  /** Who has logged in; absent in the console of one person. */
  readonly holder?: Holder;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/** A key that holds. */
export interface Session {
  /** Who has logged in; absent in the console of one person. */
  readonly holder?: Holder;
  /** Aborts when the key holds no more. */
  readonly over: AbortSignal;
}

interface Entry {
  readonly hash: Uint8Array;
  readonly expiresAt: number;
  readonly of?: TicketFor;
  readonly end: (used: boolean) => void;
}

interface KeyEntry extends Entry {
  readonly session: Session;
}

/** The tickets and keys of one console; disposing it ends them all. */
export class Sessions implements Disposable {
  readonly #clock: Clock;
  readonly #tickets: Entry[] = [];
  readonly #keys: KeyEntry[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes a ticket; for nobody in particular in the console of one person. */
  issue(of?: TicketFor): Ticket {
    const { promise: over, resolve } = Promise.withResolvers<boolean>();
    const text = newSecret();
    const timer = this.#clock.after(TICKET_MS, () => this.#spend(text));
    add(this.#tickets, {
      hash: hashOf(text),
      expiresAt: this.#clock.now() + TICKET_MS,
      ...(of === undefined ? {} : { of }),
      end(used) {
        timer[Symbol.dispose]();
        resolve(used);
      },
    });
    return { text, over };
  }

  /**
   * Exchanges a ticket, which is then used up, for a key; `undefined` for a ticket that is not
   * valid, or comes without the cookie of its login: somebody else's link logs nobody in.
   */
  exchange(ticket: string, cookie = ""): Key | undefined {
    const spent = this.#spend(ticket);
    if (spent === undefined) return undefined;
    const { of } = spent;
    if (of !== undefined && !equalSecrets(of.cookie, cookie)) return undefined;
    const text = newSecret();
    const expiresAt = this.#clock.now() + KEY_MS;
    const ending = new AbortController();
    const hash = hashOf(text);
    const timer = this.#clock.after(KEY_MS, () => this.#drop(hash));
    const more = of === undefined ? {} : { of };
    const whose = of === undefined ? {} : { holder: of.holder };
    const session = { over: ending.signal, ...whose };
    const end = () => {
      timer[Symbol.dispose]();
      ending.abort();
    };
    add(this.#keys, { hash, expiresAt, ...more, session, end });
    return { text, expiresAt, ...whose };
  }

  /** The session of a key; `undefined` for one that does not hold. */
  find(key: string): Session | undefined {
    const hash = hashOf(key);
    const now = this.#clock.now();
    return this.#keys.find((one) => equalBytes(one.hash, hash) && now < one.expiresAt)?.session;
  }

  [Symbol.dispose](): void {
    for (const { end } of [...this.#tickets.splice(0), ...this.#keys.splice(0)]) end(false);
  }

  /** Uses up a ticket; returns it if it was valid. */
  #spend(text: string): Entry | undefined {
    const ticket = take(this.#tickets, hashOf(text));
    if (ticket === undefined) return undefined;
    const isGood = this.#clock.now() < ticket.expiresAt;
    ticket.end(isGood);
    return isGood ? ticket : undefined;
  }

  #drop(hash: Uint8Array): void {
    take(this.#keys, hash)?.end(false);
  }
}

function take<One extends Entry>(entries: One[], hash: Uint8Array): One | undefined {
  const at = entries.findIndex((one) => equalBytes(one.hash, hash));
  return at === -1 ? undefined : entries.splice(at, 1)[0];
}

/** Adds an entry; of each holder there are {@linkcode MOST}, so that none crowds out another. */
function add<One extends Entry>(entries: One[], entry: One): void {
  const person = entry.of?.holder.person;
  const own = entries.filter((one) => one.of?.holder.person === person);
  const [oldest] = own;
  if (oldest !== undefined && own.length >= MOST) take(entries, oldest.hash)?.end(false);
  entries.push(entry);
}

/** 256 random bits in hexadecimal. */
export function newSecret(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(32)));
}

/** The hash under which a secret is kept. */
export function hashOf(text: string): Uint8Array {
  return utf8(sha256Hex(text));
}
