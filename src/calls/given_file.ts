/**
 * The only file that the daemon reads for a caller: the body that it gave to the caller's run itself.
 *
 * @module
 */

import { equalBytes } from "../base/bytes.ts";
import { RegularFile } from "../base/regular_file.ts";
import type { GivenFile } from "../auth/run_tokens.ts";

/** Largest file that is served. */
const MAX_BYTES = 256 * 1024;

/**
 * The content of the file at `path`, if that is the run's file and still has the content that the
 * daemon gave it. Even if the caller has put another file there, it learns nothing that it does not
 * have.
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
