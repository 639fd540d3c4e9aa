/**
 * The one file that is read for a caller: the body that the daemon itself gave to its run.
 *
 * @module
 */

import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { equalBytes } from "../base/bytes.ts";
import type { GivenFile } from "../auth/run_tokens.ts";

/** Largest file that is served. */
const MAX_BYTES = 256 * 1024;

/**
 * The content of the file at `path`, when that is the run's own and still holds what it was given.
 * So nothing is read here that the caller does not have, whatever it has made of the path.
 */
export function readGivenFile(path: string, own: GivenFile | undefined): Uint8Array | undefined {
  if (own === undefined || path !== own.path || own.content.length > MAX_BYTES) return undefined;
  try {
    // Not through a link, and without waiting, should it be a pipe by now.
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size } = fstatSync(file);
      if (!fstatSync(file).isFile() || size !== own.content.length) return undefined;
      const content = new Uint8Array(size);
      const read = size === 0 ? 0 : readSync(file, content);
      return read === size && equalBytes(content, own.content) ? content : undefined;
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}
