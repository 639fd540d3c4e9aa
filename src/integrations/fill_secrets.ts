/**
 * The SecretStores that an installation writes or leaves as they are. Pure: the stored values are an
 * argument.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";

/** A SecretStore of a package, and its stored values. */
export interface StoreToFill {
  /** Keys that the package needs. */
  readonly keys: readonly string[];
  /** The stored values under that name, masked: an apply keeps a masked value. */
  readonly existing?: Readonly<Record<string, string>> | undefined;
}

/**
 * The data of a store after an installation; `undefined` if it stays as it is.
 *
 * @param secrets The values that the user gave, by key.
 * @throws {AppError} `refused` if a secret is missing.
 */
export function fillStore(
  { keys, existing }: StoreToFill,
  secrets: ReadonlyMap<string, string>,
): Record<string, string> | undefined {
  const own = [...secrets].filter(([key]) => keys.includes(key));
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
