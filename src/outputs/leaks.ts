/**
 * Finds secrets in what leaves: the values of SecretStores in every form that svc hides in logs, and
 * what looks like a token. A secret that is cut in two, encrypted or compressed goes through. What was
 * found is told by its place, never by its value.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { nextTurn, type WallClock } from "../base/clock.ts";
import { escapeHidden } from "../base/control_characters.ts";
import { AppError } from "../base/errors.ts";
import type { KnownSecrets } from "../secrets/known_secrets.ts";
import { findToken } from "./token_forms.ts";

/** What {@linkcode findLeak} needs. */
export interface LeaksHost {
  readonly secrets: Pick<KnownSecrets, "search">;
  readonly clock: WallClock;
}

/** A secret that was found. */
export interface Leak {
  /** What it is, for sentences: `a token of GitHub`. */
  readonly what: string;
  /** The line in which it begins, from 1. */
  readonly line: number;
}

/** What is searched for. */
export interface LeakOptions {
  /** Whether forms of tokens are searched for, too; by default they are. Known values always are. */
  readonly forms?: boolean;
}

const KNOWN_VALUE = "a secret that svc knows, such as a value of a SecretStore";
const NOTHING_LEAVES = "svc sends nothing with a secret in it";
const NEWLINE = 0x0a;

/**
 * The first secret in some bytes, a known value before a token. Other work goes on meanwhile, and the
 * search takes memory for a part of the bytes only.
 */
export async function findLeak(
  bytes: Uint8Array,
  host: LeaksHost,
  options?: LeakOptions,
): Promise<Leak | undefined> {
  for (const leak of search(bytes, host, options)) {
    if (leak !== undefined) return leak;
    await nextTurn();
  }
  return undefined;
}

/** The same for a short text, at once. */
export function findLeakInText(text: string, host: LeaksHost): Leak | undefined {
  return search(utf8(text), host).find((leak) => leak !== undefined);
}

/**
 * Refuses texts that have a secret. Each has a name for sentences, such as `title`.
 *
 * @throws {AppError} `refused`.
 */
export function refuseLeaks(texts: Readonly<Record<string, string>>, host: LeaksHost): void {
  for (const [name, text] of Object.entries(texts)) {
    const leak = findLeakInText(text, host);
    if (leak === undefined) continue;
    const where = text.includes("\n") ? `Line ${leak.line} of the ${name}` : `The ${name}`;
    throw new AppError("refused", `${where} has ${leak.what}: ${NOTHING_LEAVES}`);
  }
}

/**
 * Refuses texts that have a token, for texts in which svc hides known values.
 *
 * @throws {AppError} `refused`.
 */
export function refuseTokens(
  texts: Readonly<Record<string, string>>,
  { clock }: Pick<LeaksHost, "clock">,
): void {
  refuseLeaks(texts, { clock, secrets: { search: function* () {} } });
}

/** Says where in a file a secret is; the path must have been searched, too. */
export function leakSentence(path: string, { what, line }: Leak): string {
  return `${escapeHidden(path)}:${line} has ${what}: ${NOTHING_LEAVES}`;
}

function* search(
  bytes: Uint8Array,
  { secrets, clock }: LeaksHost,
  { forms = true }: LeakOptions = {},
): Generator<Leak | undefined, void> {
  for (const at of secrets.search(bytes)) {
    yield at === undefined ? undefined : { what: KNOWN_VALUE, line: lineOf(bytes, at) };
  }
  if (!forms) return;
  for (const token of findToken(bytes, clock.now())) {
    yield token && { what: token.what, line: lineOf(bytes, token.at) };
  }
}

function lineOf(bytes: Uint8Array, at: number): number {
  let line = 1;
  for (let next = bytes.indexOf(NEWLINE); next !== -1 && next < at; line++) {
    next = bytes.indexOf(NEWLINE, next + 1);
  }
  return line;
}
