/**
 * A copy of a database under a name of its own: the name exists only once the copy is whole.
 *
 * @module
 */

import { dirname } from "node:path";
import { syncDirectory, syncFile } from "../../../base/durable_files.ts";
import type { BackupFacts, Progress } from "../../maintenance.ts";
import { backUpFile } from "./run_job.ts";

/**
 * Copies the database `from` to `to`, also while it is in use; yields its progress. The copy is
 * checked, its owner's alone, and on disk before it has its name, under which it takes the place of
 * what is there. Ending the iteration early or by `signal` leaves nothing behind; being killed, a
 * file that {@linkcode isPart} knows.
 *
 * @throws {AppError} `refused` or `overloaded` when the copy cannot be made or is not sound.
 */
export async function* copyFile(
  { from, to }: { readonly from: string; readonly to: string },
  signal?: AbortSignal,
): AsyncGenerator<Progress, BackupFacts, undefined> {
  const part = `${to}.${crypto.randomUUID().slice(0, 8)}.part`;
  try {
    (await Deno.open(part, { write: true, createNew: true, mode: 0o600 })).close();
    const facts = yield* backUpFile({ from, to: part }, signal);
    await syncFile(part);
    await Deno.rename(part, to);
    await syncDirectory(dirname(to));
    return facts;
  } finally {
    // Gone already after a success.
    for (const left of [part, `${part}-journal`]) await Deno.remove(left).catch(() => {});
  }
}

/** Whether a path is of a copy that was never finished. */
export function isPart(path: string): boolean {
  return /\.[0-9a-f]{8}\.part(-journal)?$/.test(path);
}
