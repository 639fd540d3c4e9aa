/**
 * How much room there is where a file lies.
 *
 * @module
 */

import { statfs } from "node:fs/promises";

/** Room of a file system, in bytes. */
export interface DiskSpace {
  /** What may still be written. */
  readonly freeBytes: number;
  /** All of it. */
  readonly totalBytes: number;
}

/** The room where `path` lies; `undefined` where the system does not tell. */
export async function findDiskSpace(path: string): Promise<DiskSpace | undefined> {
  try {
    const { bsize, bavail, blocks } = await statfs(path);
    return { freeBytes: bsize * bavail, totalBytes: bsize * blocks };
  } catch {
    return undefined;
  }
}
