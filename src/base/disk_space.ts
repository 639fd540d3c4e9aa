/**
 * The free space of a disk, and the space that a file takes.
 *
 * @module
 */

import { statfsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { sizeText } from "./size.ts";

/** The space of a file system, in bytes. */
export interface DiskSpace {
  /** Free for unprivileged users. */
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Size of the blocks in which `stat` counts, in bytes. */
const BLOCK_BYTES = 512;

/** The space that a file takes on its disk, in bytes. */
export function bytesOnDisk({ blocks, size }: Pick<Deno.FileInfo, "blocks" | "size">): number {
  return blocks === null ? size : blocks * BLOCK_BYTES;
}

/** The space of the file system of `path`; `undefined` where the system does not report it. */
export async function findDiskSpace(path: string): Promise<DiskSpace | undefined> {
  try {
    return toSpace(await statfs(path));
  } catch {
    return undefined;
  }
}

/** The same at once, for a file system that does not keep its caller waiting: one in memory. */
export function findDiskSpaceSync(path: string): DiskSpace | undefined {
  try {
    return toSpace(statfsSync(path));
  } catch {
    return undefined;
  }
}

function toSpace(
  { bsize, bavail, blocks }: { bsize: number; bavail: number; blocks: number },
): DiskSpace {
  return { freeBytes: bsize * bavail, totalBytes: bsize * blocks };
}

/**
 * A disk is nearly full when its free space is below `leastBytes`, or below the smaller of `leastPart`
 * of the disk and `enoughBytes`.
 */
const NEARLY_FULL = { leastBytes: 256 * 2 ** 20, leastPart: 1 / 20, enoughBytes: 5 * 2 ** 30 };

/** A sentence about a disk that is nearly full; `undefined` for any other, or if `space` is not known. */
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
