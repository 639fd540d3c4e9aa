/**
 * The one file that is read for a caller: the body that the daemon itself gave to its run.
 *
 * @module
 */

import { equalBytes } from "../base/bytes.ts";
import { RegularFile } from "../base/regular_file.ts";
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
    using file = RegularFile.open(path, { noLink: true });
    const content = new Uint8Array(own.content.length);
    const isWhole = file.facts.size === content.length && file.readSync(content) === content.length;
    return isWhole && equalBytes(content, own.content) ? content : undefined;
  } catch {
    return undefined;
  }
}
