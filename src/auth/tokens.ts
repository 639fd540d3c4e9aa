/**
 * Bearer tokens of the control plane: shown once when created, stored as a hash. They work on the
 * socket too, so admin work stays possible when the socket's role is limited.
 *
 * @module
 */

import type { Output } from "../api/operations.ts";
import { defined } from "../base/defined.ts";
import { lowerRole, type Role } from "../base/roles.ts";
import type { Catalog } from "../resources/catalog.ts";
import { type FoundPerson, personNamed } from "./persons.ts";
import { sha256Hex, toHex } from "../base/bytes.ts";
import { rfc3339, type WallClock } from "../base/clock.ts";
import { MAX_DURATION, MAX_DURATION_SECS } from "../base/duration.ts";
import { AppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import type { ControlToken } from "../store/audit_records.ts";
import type { TokenStore } from "../store/audit_store.ts";

/** The properties of a token that is to be made. */
export interface TokenRequest {
  /** Its highest role; that of its Person if absent, else `read_only`. */
  readonly role?: Role;
  /** Name of the Person that it is for. */
  readonly person?: string;
  /** Whether it acts for the Person that each request names. */
  readonly gateway?: boolean;
  /** Seconds until it expires. */
  readonly ttlSecs: number;
  /** The purpose of the token, in the owner's words. */
  readonly name: string;
}

/** The stored tokens, and the time at which they are valid. */
export interface StoredTokens {
  readonly store: TokenStore;
  readonly clock: WallClock;
}

/** Prefix of every token, so that secret scanners find it. */
const PREFIX = "svct_";
/** Names that a list can show in one line, without invisible characters. */
const NAME = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,100}$/u;

/** A new token that is not stored yet. */
export interface NewToken {
  /** The text of the token, which is never stored. */
  readonly token: string;
  /** The record of the token, without the hash. */
  readonly record: ControlToken;
  /** The answer to its creator. */
  readonly shown: Output<"token.create">;
}

/**
 * Creates a token without storing it: every error is reported before anything is stored.
 *
 * @throws {AppError} `usage` when its name or its lifetime is not allowed, or a gateway is to be for one
 * Person.
 */
export function newToken(
  { role, ttlSecs, name, person: named, gateway = false }: TokenRequest,
  { newId, clock, catalog }: {
    readonly newId: NewId;
    readonly clock: WallClock;
    readonly catalog: Catalog;
  },
): NewToken {
  if (!Number.isInteger(ttlSecs) || ttlSecs < 1 || ttlSecs > MAX_DURATION_SECS) {
    const message = `A token is valid for 1s to ${MAX_DURATION}, not for ${ttlSecs} seconds`;
    throw new AppError("usage", message);
  }
  if (!NAME.test(name)) {
    throw new AppError(
      "usage",
      "The name of a token has 1 to 100 characters, all of them printable",
    );
  }
  if (gateway && named !== undefined) {
    throw new AppError("usage", "A gateway token acts for each Person that it names, not for one");
  }
  const person = named === undefined ? undefined : personNamed(catalog, named);
  if (named !== undefined && person === undefined) {
    throw new AppError("not_found", `No Person "${named}": "svc get persons" lists them`);
  }
  const token = PREFIX + toHex(crypto.getRandomValues(new Uint8Array(32)));
  const [id, now] = [newId(), clock.now()];
  const record = {
    id,
    name,
    role: role ?? person?.role ?? "read_only",
    ...defined({ person: person?.name }),
    ...(gateway ? { gateway: true } as const : {}),
    // Where the clock was set back, too, a token is younger than its Person.
    createdAt: Math.max(now, person?.since ?? now),
    expiresAt: now + ttlSecs * 1000,
  };
  const shown = {
    token,
    id,
    role: person === undefined ? record.role : lowerRole(record.role, person.role),
    ...defined({ person: person?.name }),
    ...(gateway ? { gateway: true } as const : {}),
    expires_at: rfc3339(record.expiresAt),
  };
  return { token, record, shown };
}

/** Stores the hash of a token, which makes the token valid. */
export async function keepToken({ token, record }: NewToken, store: TokenStore): Promise<void> {
  await store.createToken(record, sha256Hex(token));
}

/** Finds the token with this text, unless it was revoked or has expired. */
export async function findToken(
  text: string,
  { store, clock }: StoredTokens,
): Promise<ControlToken | undefined> {
  if (!text.startsWith(PREFIX)) return undefined;
  const token = await store.findToken(sha256Hex(text));
  if (token === undefined || token.revokedAt !== undefined) return undefined;
  return token.expiresAt > clock.now() ? token : undefined;
}

/**
 * The Person of a token as it is now; `undefined` for a token of nobody in particular.
 *
 * @throws {AppError} `forbidden` if that Person does not exist any more. A Person that was made later
 * under the same name is another one.
 */
export function personOf(
  { person: name, createdAt }: ControlToken,
  catalog: Catalog,
): FoundPerson | undefined {
  if (name === undefined) return undefined;
  const person = personNamed(catalog, name);
  if (person !== undefined && person.since <= createdAt) return person;
  throw new AppError(
    "forbidden",
    `This token is for the Person "${name}", who does not exist any more: ask an admin for a new one`,
  );
}

/**
 * Revokes the token with this id.
 *
 * @throws {AppError} `not_found`.
 */
export async function revokeToken(
  id: string,
  { store, clock }: StoredTokens,
): Promise<ControlToken> {
  const token = (await store.listTokens()).find((one) => one.id === id);
  if (token === undefined) throw new AppError("not_found", `No token "${id}"`);
  await store.revokeToken(id, clock.now());
  return token;
}
