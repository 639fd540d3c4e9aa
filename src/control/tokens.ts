/**
 * Bearer tokens of the control plane (contract 5): made once, shown once, stored as a hash. They work
 * on the socket too, so admin work stays possible when the socket is capped.
 *
 * @module
 */

import type { Role } from "../api/operations.ts";
import { sha256Hex, toHex } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import type { ControlToken } from "../store/audit_records.ts";
import type { Store } from "../store/store.ts";

/** What tokens need. */
export interface TokenHost {
  /** Keeps their hashes. */
  readonly store: Store;
  /** The time. */
  readonly clock: Clock;
  /** Names them. */
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

/** Makes a token; its text is known to nobody afterwards. */
export async function createToken(
  request: TokenRequest,
  host: TokenHost,
): Promise<{ token: string; record: ControlToken }> {
  const token = PREFIX + toHex(crypto.getRandomValues(new Uint8Array(32)));
  const now = host.clock.now();
  const record: ControlToken = {
    id: host.newId(),
    name: request.name,
    role: request.role,
    createdAt: now,
    expiresAt: now + request.ttlSecs * 1000,
  };
  await host.store.createToken(record, sha256Hex(token));
  return { token, record };
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
