/**
 * The lock of a data directory: one process at a time may write to it. An operating system lock, gone
 * with the process, however that ends.
 *
 * @module
 */

import type { DataDir } from "./data_dir.ts";
import { AppError, messageOf } from "./errors.ts";

/**
 * Takes the lock; disposing it gives it back.
 *
 * @throws {AppError} `refused` when another process holds it, or the directory cannot be used.
 */
export async function lockDataDir(dir: DataDir): Promise<Disposable> {
  const file = await Deno.open(dir.lock, { create: true, write: true, mode: 0o600 }).catch(
    (cause) => {
      const what = cause instanceof Deno.errors.NotFound
        ? `The data directory "${dir.root}" is not initialised: run "svc init"`
        : `Cannot use the data directory "${dir.root}": ${messageOf(cause)}`;
      throw new AppError("refused", what, { cause });
    },
  );
  if (await file.tryLock(true)) return file;
  file.close();
  throw new AppError(
    "refused",
    `Another daemon runs on "${dir.root}": stop it, or use another --data-dir`,
  );
}
