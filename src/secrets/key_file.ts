/**
 * The file with the key of the secret values.
 *
 * @module
 */

import { isThere, writeDurably } from "../base/durable_files.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { readRegularText } from "../base/regular_file.ts";
import { createKeyring, type Keyring, withoutUnbound } from "./keyring.ts";

/**
 * The keyring of the key file at `path`.
 *
 * @throws {AppError} `invalid` or `refused`, with the path, when the file cannot be used.
 */
export async function readKeyFile(path: string): Promise<Keyring> {
  return (await openKeyFile(path)).keyring;
}

/**
 * The keyring of the key file at `path`, and the text of the file, which has to be hidden in all output.
 *
 * @throws {AppError} as {@linkcode readKeyFile}.
 */
export async function openKeyFile(
  path: string,
): Promise<{ readonly keyring: Keyring; readonly text: string }> {
  let text: string;
  try {
    text = readRegularText(path);
  } catch (cause) {
    throw new AppError("refused", `Cannot use "${path}": ${fileFault(cause)}`, { cause });
  }
  const keyring = await createKeyring(text).catch((error) => {
    throw new AppError("invalid", `${messageOf(error)}: ${path}`, { cause: error });
  });
  return { keyring, text };
}

/** A statement about values that are sealed with a key, so that no new key can replace it. */
export interface Sealed {
  /** A clause, such as `3 SecretStores are sealed with it`. */
  readonly says: string;
  /** Another way than a backup to get the key. */
  readonly instead?: string;
}

/** The fault of a key file that does not exist. */
export const MISSING = "is missing";

/** The fault of a key file, as a predicate (`is empty`); `undefined` when the file can be used. */
export async function findKeyFault(path: string): Promise<string | undefined> {
  let text: string;
  try {
    text = readRegularText(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) return `cannot be read (${fileFault(error)})`;
    return await isThere(path) ? "is a link that leads nowhere" : MISSING;
  }
  if (text.trim() === "") return "is empty";
  return await createKeyring(text).then(() => undefined, () => "is damaged");
}

/**
 * The remedy for a fault of a key file, as a sentence. Without `sealed`, no value is sealed with the
 * key, so a new key can replace it.
 */
export function keyRemedy(path: string, fault: string, sealed?: Sealed): string {
  const what = `The key "${path}" ${fault}`;
  if (sealed !== undefined) {
    const { says, instead } = sealed;
    const other = instead === undefined ? "" : `, or ${instead}`;
    return `${what}, and ${says}: restore it from your backup${other}`;
  }
  const cure = fault === MISSING ? 'run "svc init"' : 'remove it and run "svc init"';
  return `${what}, and nothing has been sealed with it: ${cure}`;
}

/**
 * Changes the key file so that it accepts no value of the earlier form any more. All values have been
 * sealed again before. A file behind a link is managed elsewhere and stays as it is.
 *
 * @returns A warning for the operator, if the file cannot be changed.
 */
export async function closeToUnbound(path: string): Promise<string | undefined> {
  try {
    if ((await Deno.lstat(path)).isSymlink) throw new Error("it is a link");
    await writeDurably(path, withoutUnbound(readRegularText(path)));
    return undefined;
  } catch (error) {
    return `The key file "${path}" still opens secrets of an earlier svc, and cannot be ` +
      `changed (${messageOf(error)}): replace svc1 with svc2 in it`;
  }
}
