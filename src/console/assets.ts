/**
 * The files of the page that are built into the program.
 *
 * @module
 */

import { findBase64 } from "../base/bytes.ts";
import { EMBEDDED } from "./embedded.ts";

/** A file of the page as it is served. */
export interface Asset {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Whether the body is compressed. */
  readonly gzip: boolean;
}

/** Finds a file by its name, which is no path; `make console` reads the files from disk. */
export type FindAsset = (name: string) => Promise<Asset | undefined>;

/** Finds a file that is built in. */
export function findEmbedded(name: string): Promise<Asset | undefined> {
  const file = Object.hasOwn(EMBEDDED, name) ? EMBEDDED[name] : undefined;
  const body = findBase64(file?.gzip ?? "");
  return Promise.resolve(
    file === undefined || body === undefined ? undefined : { type: file.type, body, gzip: true },
  );
}
