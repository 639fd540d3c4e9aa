/**
 * The lock of a data directory, which lets one process at a time write to it. It is a lock of the
 * operating system, which ends with the process.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { DataDir } from "./data_dir.ts";
import { AppError } from "./errors.ts";
import { fileFault } from "./file_fault.ts";
import { refuseMissing } from "./initialised.ts";

/**
 * Longest wait for a lock. A daemon that is killed while it starts a process leaves a copy of itself,
 * which has all its open files until it becomes that process (measured: 70 ms, and 900 ms on a busy
 * machine). Such a copy looks like a running daemon.
 */
const WITHIN_MS = 3000;
const POLL_INTERVAL_MS = 20;

/**
 * Takes the lock; disposing it releases it. Waits a while if another process holds it.
 *
 * @throws {AppError} `refused` when another process holds it, or the directory cannot be used.
 */
export async function lockDataDir(dir: DataDir, clock: Clock): Promise<Disposable> {
  const lock = await lockUnless(() => Promise.resolve(false), { dir, clock });
  if (lock === undefined) throw new Error("it is either locked or refused");
  return lock;
}

/**
 * Takes the lock like {@linkcode lockDataDir}. Returns `undefined` if another process holds it and
 * `isNeedless` says that the lock is not needed.
 *
 * @throws {AppError} `refused`.
 */
export async function lockUnless(
  isNeedless: () => Promise<boolean>,
  { dir, clock }: { readonly dir: DataDir; readonly clock: Clock },
): Promise<Disposable | undefined> {
  for (
    const start = clock.monotonicMs();
    clock.monotonicMs() - start < WITHIN_MS;
    await clock.pause(POLL_INTERVAL_MS)
  ) {
    const lock = await tryLock(dir);
    if (lock !== undefined) return lock;
    if (await isNeedless()) return undefined;
  }
  throw new AppError(
    "refused",
    `Another daemon runs on "${dir.root}": stop it, or use another --data-dir`,
  );
}

async function tryLock(dir: DataDir): Promise<Disposable | undefined> {
  const file = await open(dir);
  try {
    if (await file.tryLock(true)) return releaserOf(file);
    file.close();
    return undefined;
  } catch (error) {
    file.close();
    throw error;
  }
}

/**
 * Releases the lock before it closes the file: a process that another thread is starting at that moment
 * has a copy of the open file, and would hold the lock for a while.
 */
function releaserOf(file: Deno.FsFile): Disposable {
  return {
    [Symbol.dispose]() {
      file.unlockSync();
      file.close();
    },
  };
}

async function open(dir: DataDir): Promise<Deno.FsFile> {
  try {
    // For reading and writing: so opening does not wait, even if it is a named pipe.
    return await Deno.open(dir.lock, { create: true, read: true, write: true, mode: 0o600 });
  } catch (cause) {
    await refuseMissing(dir);
    const what = `Cannot use the data directory "${dir.root}": ${fileFault(cause)}`;
    throw new AppError("refused", what, { cause });
  }
}
