/**
 * Bearer tokens of the control plane: made once, shown once, stored as a hash. They work
 * on the socket too, so admin work stays possible when the socket is capped.
 *
 * @module
 */

import type { Output } from "../api/operations.ts";
import type { Role } from "../api/roles.ts";
import { sha256Hex, toHex } from "../base/bytes.ts";
import { type Clock, rfc3339 } from "../base/clock.ts";
import { MAX_DURATION, MAX_DURATION_SECS } from "../base/duration.ts";
import { AppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import type { ControlToken } from "../store/audit_records.ts";
import type { TokenStore } from "../store/audit_store.ts";

/** What tokens need. */
export interface TokenHost {
  /** Keeps their hashes. */
  readonly store: TokenStore;
  readonly clock: Clock;
  readonly newId: NewId;
}

/** What a token is to be. */
export interface TokenRequest {
  /** What its holder may do. */
  readonly role: Role;
  /** Seconds until it ends. */
  readonly ttlSecs: number;
  /** What it is for, in the owner's words. */
  readonly name: string;
}

/** What every token starts with, so that secret scanners find it. */
const PREFIX = "svct_";
/** Characters of a name that a list can show in a line, and that mean the same to every reader. */
const NAME = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,100}$/u;

/** A token on its way to whoever asked for it. */
export interface NewToken {
  /** Its text, which is known to nobody afterwards. */
  readonly token: string;
  /** What is kept of it beside its hash. */
  readonly record: ControlToken;
  /** What whoever asked for it is shown. */
  readonly shown: Output<"token.create">;
}

/**
 * Makes a token that nobody knows yet: whatever can be wrong with it is said before anything is
 * kept.
 *
 * @throws {AppError} `usage` when its name or its time cannot be.
 */
export function newToken({ role, ttlSecs, name }: TokenRequest, host: TokenHost): NewToken {
  if (!Number.isInteger(ttlSecs) || ttlSecs < 1 || ttlSecs > MAX_DURATION_SECS) {
    const message = `A token holds from 1s to ${MAX_DURATION}, not ${ttlSecs} seconds`;
    throw new AppError("usage", message);
  }
  if (!NAME.test(name)) {
    throw new AppError("usage", "The name of a token has 1 to 100 characters, all of them visible");
  }
  const token = PREFIX + toHex(crypto.getRandomValues(new Uint8Array(32)));
  const [id, now] = [host.newId(), host.clock.now()];
  const record = { id, name, role, createdAt: now, expiresAt: now + ttlSecs * 1000 };
  return { token, record, shown: { token, id, role, expires_at: rfc3339(record.expiresAt) } };
}

/** Keeps a token, by the hash of its text: from then on it is one. */
export async function keepToken({ token, record }: NewToken, store: TokenStore): Promise<void> {
  await store.createToken(record, sha256Hex(token));
}

/** The token with this text, if it is known, not revoked and not over. */
export async function findToken(text: string, host: TokenHost): Promise<ControlToken | undefined> {
  if (!text.startsWith(PREFIX)) return undefined;
  const found = await host.store.findToken(sha256Hex(text));
  if (found === undefined || found.revokedAt !== undefined) return undefined;
  return found.expiresAt > host.clock.now() ? found : undefined;
}

/**
 * Ends the token whose id starts with `prefix`.
 *
 * @throws {AppError} `not_found`, or `usage` when several do.
 */
export async function revokeToken(prefix: string, host: TokenHost): Promise<ControlToken> {
  const matching = (await host.store.listTokens())
    .filter(({ id }) => prefix !== "" && id.startsWith(prefix.toUpperCase()));
  const [token, second] = matching;
  if (token === undefined) throw new AppError("not_found", `No token "${prefix}"`);
  if (second !== undefined) {
    throw new AppError("usage", `Several ids start with "${prefix}", give more of it`);
  }
  await host.store.revokeToken(token.id, host.clock.now());
  return token;
}
