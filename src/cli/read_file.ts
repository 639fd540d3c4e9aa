/**
 * Files that a command line names; `-` is standard input.
 *
 * @module
 */

import { AppError, messageOf } from "../base/errors.ts";
import type { Io } from "./io.ts";

/**
 * The bytes of a file, or of standard input.
 *
 * @throws {AppError} `invalid` when it cannot be read.
 */
export async function readFile(path: string, io: Io): Promise<Uint8Array<ArrayBuffer>> {
  if (path === "-") return new Uint8Array(await io.stdin());
  return await Deno.readFile(path).catch((cause) => {
    throw new AppError("invalid", `Cannot read "${path}": ${messageOf(cause)}`, { cause });
  });
}
