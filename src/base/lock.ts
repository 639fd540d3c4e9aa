/**
 * The lock of a data directory: one process at a time may write to it. An operating system lock,
 * gone with the process, however that ends.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { DataDir } from "./data_dir.ts";
import { AppError } from "./errors.ts";
import { fileFault } from "./file_fault.ts";
import { refuseMissing } from "./initialised.ts";

/**
 * How long a lock is waited for. A daemon that is killed while it starts a process leaves a copy of
 * itself behind, which holds all that was open until it becomes that process: most times a moment
 * (measured: 70 ms, and 900 ms on a busy machine). Nothing tells such a copy from a daemon.
 */
const WITHIN_MS = 3000;
const POLL_INTERVAL_MS = 20;

/**
 * Takes the lock; disposing it gives it back. Waits a little for one that is on its way out.
 *
 * @throws {AppError} `refused` when another process holds it, or the directory cannot be used.
 */
export async function lockDataDir(dir: DataDir, clock: Clock): Promise<Disposable> {
  const lock = await lockUnless(() => Promise.resolve(false), { dir, clock });
  if (lock === undefined) throw new Error("it is either locked or refused");
  return lock;
}

/**
 * Takes the lock like {@linkcode lockDataDir}, or gives nothing: where another process holds it, and
 * needless says that there is nothing to do under it.
 *
 * @throws {AppError} `refused`.
 */
export async function lockUnless(
  needless: () => Promise<boolean>,
  { dir, clock }: { readonly dir: DataDir; readonly clock: Clock },
): Promise<Disposable | undefined> {
  for (
    const start = clock.monotonicMs();
    clock.monotonicMs() - start < WITHIN_MS;
    await clock.pause(POLL_INTERVAL_MS)
  ) {
    const lock = await tryLock(dir);
    if (lock !== undefined) return lock;
    if (await needless()) return undefined;
  }
  throw new AppError(
    "refused",
    `Another daemon runs on "${dir.root}": stop it, or use another --data-dir`,
  );
}

async function tryLock(dir: DataDir): Promise<Disposable | undefined> {
  const file = await open(dir);
  try {
    if (await file.tryLock(true)) return held(file);
    file.close();
    return undefined;
  } catch (error) {
    file.close();
    throw error;
  }
}

/**
 * Gives the lock back by itself, and not by closing its file: a process that is being started from
 * another thread at that moment has a copy of the open file, and would hold the lock a while longer.
 */
function held(file: Deno.FsFile): Disposable {
  return {
    [Symbol.dispose]() {
      file.unlockSync();
      file.close();
    },
  };
}

async function open(dir: DataDir): Promise<Deno.FsFile> {
  try {
    // Open for both directions, which waits for nobody, should a pipe be there.
    return await Deno.open(dir.lock, { create: true, read: true, write: true, mode: 0o600 });
  } catch (cause) {
    await refuseMissing(dir);
    const what = `Cannot use the data directory "${dir.root}": ${fileFault(cause)}`;
    throw new AppError("refused", what, { cause });
  }
}
