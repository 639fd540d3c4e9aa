/**
 * The logins that providers have been asked about and have not answered: in memory, each for ten minutes
 * and one answer. Everybody can begin one, so there is a limit, and the oldest goes first.
 *
 * @module
 */

import { equalSecrets, sha256Hex } from "../../base/bytes.ts";
import type { WallClock } from "../../base/clock.ts";
import type { LoginSecrets } from "./ways.ts";

/** How long a login may take. */
export const LOGIN_MS = 10 * 60_000;
/** Most of them, at some 600 bytes each. */
const MOST = 10_000;

/** A login under way. */
export interface PendingLogin {
  /** Name of the way. */
  readonly way: string;
  /** The cookie of the browser that began it. */
  readonly cookie: string;
  readonly secrets: LoginSecrets;
  /** The page to which it leads. */
  readonly returnTo: string;
}

/** The logins under way. */
export class PendingLogins {
  readonly #clock: WallClock;
  /** By the hash of their state, oldest first. */
  readonly #logins = new Map<string, PendingLogin & { readonly until: number }>();

  constructor(clock: WallClock) {
    this.#clock = clock;
  }

  /** Keeps a login until it is taken. */
  add(login: PendingLogin): void {
    if (this.#logins.size >= MOST) {
      for (const oldest of this.#logins.keys()) {
        this.#logins.delete(oldest);
        break;
      }
    }
    const until = this.#clock.now() + LOGIN_MS;
    this.#logins.set(sha256Hex(login.secrets.state), { ...login, until });
  }

  /**
   * The login with this state, which is then over; `undefined` if there is none, it was begun another way
   * or in another browser, or took too long.
   */
  take(state: string, way: string, cookie: string): PendingLogin | undefined {
    const key = sha256Hex(state);
    const login = this.#logins.get(key);
    this.#logins.delete(key);
    if (login === undefined || login.way !== way || this.#clock.now() >= login.until) {
      return undefined;
    }
    return equalSecrets(login.cookie, cookie) ? login : undefined;
  }
}
