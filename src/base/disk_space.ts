/**
 * How much room there is where a file lies, and how much a file takes.
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

/** Bytes of a block, as the system counts them. */
const BLOCK_BYTES = 512;

/** What a file takes on its disk, in bytes. */
export function bytesOnDisk({ blocks, size }: Pick<Deno.FileInfo, "blocks" | "size">): number {
  return blocks === null ? size : blocks * BLOCK_BYTES;
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
