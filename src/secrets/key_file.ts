/**
 * The file with the key of the secret values.
 *
 * @module
 */

import { AppError, messageOf } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { createKeyring, type Keyring, withoutUnbound } from "./keyring.ts";

/**
 * The keyring of the key file at `path`.
 *
 * @throws {AppError} `invalid` or `refused` when it cannot be used; it is named.
 */
export async function readKeyFile(path: string): Promise<Keyring> {
  const text = await Deno.readTextFile(path).catch((cause) => {
    throw new AppError("refused", `Cannot use "${path}": ${fileFault(cause)}`, { cause });
  });
  return await createKeyring(text).catch((error) => {
    throw new AppError("invalid", `${messageOf(error)}: ${path}`, { cause: error });
  });
}

/**
 * Has the key file open no value of the earlier form any more; all of them have been sealed anew.
 * One that a link leads to is managed elsewhere and is left as it is.
 *
 * @returns What an operator should know, if that cannot be done.
 */
export async function closeToUnbound(path: string): Promise<string | undefined> {
  const part = `${path}.part`;
  try {
    if ((await Deno.lstat(path)).isSymlink) throw new Error("it is a link");
    const text = withoutUnbound(await Deno.readTextFile(path));
    await Deno.remove(part).catch(() => {}); // of one that was killed
    await Deno.writeTextFile(part, text, { createNew: true, mode: 0o600 });
    {
      using file = await Deno.open(part, { read: true, write: true });
      await file.sync();
    }
    await Deno.rename(part, path);
    return undefined;
  } catch (error) {
    await Deno.remove(part).catch(() => {});
    return `The key file "${path}" still opens secrets of an earlier svc, and cannot be changed ` +
      `(${messageOf(error)}): write svc2 in the place of svc1 there`;
  }
}
