/**
 * `svc db vacuum`: gives unused space back to the file system, a little at a time, so that
 * concurrent writes do not wait long.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Maintenance, Progress } from "../store/maintenance.ts";

/** Bytes per step, which took 4 ms, or 20 ms with a checkpoint in it. */
const STEP_BYTES = 1024 * 1024;

/** Result of a vacuum. */
export interface VacuumResult {
  /** Bytes that the file system got back. */
  readonly freedBytes: number;
  /** Size of the database in bytes. */
  readonly bytes: number;
}

/**
 * Gives all unused space back; yields its progress.
 *
 * @throws {AppError} `refused` when this database cannot give back space.
 */
export async function* vacuum(
  store: Maintenance,
): AsyncGenerator<Progress, VacuumResult, undefined> {
  const before = await store.databaseSize();
  if (!before.reclaimable && before.unusedBytes > 0) {
    throw new AppError(
      "refused",
      "An earlier version of svc created this database, which cannot shrink; svc reuses its " +
        "unused space",
    );
  }
  // A fixed number of steps: space that other calls free meanwhile is left for the next time.
  for (let left = before.unusedBytes; left > 0; left -= STEP_BYTES) {
    const { unusedBytes } = await store.reclaimSpace({ maxBytes: STEP_BYTES });
    yield { fraction: Math.max(0, before.unusedBytes - unusedBytes) / before.unusedBytes };
    if (unusedBytes === 0) break;
  }
  const { bytes } = await store.databaseSize();
  return { freedBytes: Math.max(0, before.bytes - bytes), bytes };
}
