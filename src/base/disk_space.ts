/**
 * How much room there is where a file lies, and how much a file takes.
 *
 * @module
 */

import { statfs } from "node:fs/promises";
import { sizeText } from "./size.ts";

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

/**
 * When a disk is nearly full: below `leastBytes`, or below the smaller of `leastPart` of the disk
 * and `enoughBytes`.
 */
const NEARLY_FULL = { leastBytes: 256 * 2 ** 20, leastPart: 1 / 20, enoughBytes: 5 * 2 ** 30 };

/** What is wrong where little room is left for `path`, as a sentence; if anything is known to be. */
export function diskFault(space: DiskSpace | undefined, path: string): string | undefined {
  if (space === undefined) return undefined;
  const { freeBytes, totalBytes } = space;
  const { leastBytes, leastPart, enoughBytes } = NEARLY_FULL;
  if (freeBytes >= Math.max(leastBytes, Math.min(totalBytes * leastPart, enoughBytes))) {
    return undefined;
  }
  const left = `${sizeText(freeBytes)} left for ${path}`;
  return `the disk is nearly full: ${left} (svc db usage shows what uses it)`;
}
