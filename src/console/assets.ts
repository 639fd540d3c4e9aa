/**
 * The built-in files as they are served.
 *
 * @module
 */

import { findBase64 } from "../base/bytes.ts";
import { EMBEDDED } from "./embedded.ts";

/** One file. */
export interface Asset {
  /** Its media type. */
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Whether the body is compressed. */
  readonly gzip: boolean;
}

/** Finds a file by its name, which is no path; a checkout may have them on disk. */
export type FindAsset = (name: string) => Promise<Asset | undefined>;

/** Finds a file in the program itself. */
export function findEmbedded(name: string): Promise<Asset | undefined> {
  const file = Object.hasOwn(EMBEDDED, name) ? EMBEDDED[name] : undefined;
  const body = findBase64(file?.gzip ?? "");
  return Promise.resolve(
    file === undefined || body === undefined ? undefined : { type: file.type, body, gzip: true },
  );
}
