/**
 * Which SecretStores an installation writes: filled with what was given, or left as they
 * are. Pure: what is in the daemon's store comes in as an argument.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { MASK } from "../resources/secret_store.ts";

/** A SecretStore of a package and what is known about it. */
export interface StoreToFill {
  /** Name of the store. */
  readonly name: string;
  /** Keys that the package wants. */
  readonly keys: readonly string[];
  /** What the daemon holds under that name, masked where it may not be seen. */
  readonly existing?: Readonly<Record<string, string>> | undefined;
}

/**
 * The data of a store after an installation; `undefined` where it stays as it is.
 *
 * @throws {AppError} `refused` when a secret is missing; `forbidden` when one would be lost.
 */
export function fillStore(
  { name, keys, existing }: StoreToFill,
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
  // An apply replaces a store as a whole, so what cannot be read could not be kept.
  const hidden = Object.entries(data).find(([, value]) => value === MASK)?.[0];
  if (hidden !== undefined) {
    throw new AppError(
      "forbidden",
      `SecretStore "${name}" also holds "${hidden}", which you may not read and which would be ` +
        `lost: change one key with svc tool secret-rotate ${name} ${own[0]?.[0]} --value-file -`,
    );
  }
  return data;
}
