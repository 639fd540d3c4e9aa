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
 * @throws {AppError} `invalid` or `refused` when it cannot be used; it is named.
 */
export async function readKeyFile(path: string): Promise<Keyring> {
  return (await openKeyFile(path)).keyring;
}

/**
 * The same, with the text of the file, which is to be hidden wherever it is printed.
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

/** What is sealed with a key, so that another one is no replacement. */
export interface Sealed {
  /** What it is, as a clause. */
  readonly says: string;
  /** How to get at that key, beside a backup. */
  readonly instead?: string;
}

/** What is wrong with a key file that is not there, as a predicate. */
export const MISSING = "is missing";

/** What is wrong with a key file, as a predicate; `undefined` when it can be used. */
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
 * What to do about a fault of a key file, as a sentence. `sealed` is absent where nothing has been
 * sealed yet: then a new key is as good.
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
 * Has the key file open no value of the earlier form any more; all of them have been sealed anew.
 * One that a link leads to is managed elsewhere and is left as it is.
 *
 * @returns What an operator should know, if that cannot be done.
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
