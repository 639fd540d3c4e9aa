/**
 * Which SecretStores an installation writes: filled with what was given, or left as they
 * are. Pure: what is in the daemon's store comes in as an argument.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";

/** A SecretStore of a package and what is known about it. */
export interface StoreToFill {
  /** Keys that the package wants. */
  readonly keys: readonly string[];
  /** What the daemon holds under that name, masked: an apply keeps what is masked. */
  readonly existing?: Readonly<Record<string, string>> | undefined;
}

/**
 * The data of a store after an installation; `undefined` where it stays as it is.
 *
 * @throws {AppError} `refused` when a secret is missing.
 */
export function fillStore(
  { keys, existing }: StoreToFill,
  given: ReadonlyMap<string, string>,
): Record<string, string> | undefined {
  const own = [...given].filter(([key]) => keys.includes(key));
  if (own.length === 0 && existing !== undefined) return undefined;
  const data = { ...existing, ...Object.fromEntries(own) };
  const missing = keys.find((key) => !Object.hasOwn(data, key));
  if (missing !== undefined) {
    throw new AppError(
      "refused",
      `The secret "${missing}" is missing: give it with --set-secret ${missing}=- (standard ` +
        `input) or --set-secret ${missing}=@FILE`,
    );
  }
  return data;
}
