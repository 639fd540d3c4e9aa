/**
 * What lies on disk for tasks that are gone: a crash came between the removal of a task and that of
 * its files. Looked for once after a start, slowly, so that nobody waits for it.
 *
 * @module
 */

import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import type { Log } from "../../base/log.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { findLogOwner, logPath } from "../log/task_log.ts";

/** What looking for orphans needs. */
export interface OrphansHost {
  /** Tasks. */
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Where logs and the directories of tasks are. */
  readonly dirs: DataDir;
  /** Removes the directory a task had for itself. */
  readonly removeDirectory: (directory: string, signal: AbortSignal) => Promise<unknown>;
}

/** Tasks looked up at once, and the pause after it: a small part of what the store can do. */
const AT_ONCE = 50;
const PAUSE_MS = 200;

/** Removes the logs and directories of tasks that are gone. */
export async function removeOrphans(host: OrphansHost, signal: AbortSignal): Promise<void> {
  const { dirs, log, store, clock } = host;
  for await (
    const id of withoutTask(dirs.logs, { findOwner: findLogOwner, store, clock, signal })
  ) {
    await removeIfThere(logPath(dirs.logs, id));
    log.info("log of a removed task removed", { task: id });
  }
  for (const parent of [dirs.worktrees, dirs.copies]) {
    const found = withoutTask(parent, { findOwner: findDirectoryOwner, store, clock, signal });
    const candidates = await Array.fromAsync(found);
    const used = await directoriesInUse(candidates, { store, clock, signal });
    for (const id of candidates) {
      const path = join(parent, id);
      if (signal.aborted || used.some((one) => `${one}/`.startsWith(`${path}/`))) continue;
      await host.removeDirectory(path, signal);
      log.info("directory of a removed task removed", { task: id });
    }
  }
}

/** A directory is named after the task it was made for. */
function findDirectoryOwner(name: string): string | undefined {
  return /^[0-9A-Z]{26}$/.test(name) ? name : undefined;
}

/** Ids of tasks that are gone and have something in a directory. */
async function* withoutTask(
  directory: string,
  { findOwner, store, clock, signal }: {
    readonly findOwner: (name: string) => string | undefined;
    readonly store: TaskStore;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  },
): AsyncGenerator<string> {
  const missing = async (ids: readonly string[]) => {
    const found = await Promise.all(ids.map((id) => store.findTasks(id)));
    await clock.pause(PAUSE_MS, signal);
    return ids.filter((_, index) => found[index]?.length === 0);
  };
  let batch: string[] = [];
  for await (const name of namesIn(directory)) {
    if (signal.aborted) return;
    batch.push(...[findOwner(name)].filter((id) => id !== undefined));
    if (batch.length < AT_ONCE) continue;
    yield* await missing(batch);
    batch = [];
  }
  yield* await missing(batch);
}

/** A retry goes on in the directory of the task it repeats, which may be gone by now. */
async function directoriesInUse(
  candidates: readonly string[],
  { store, clock, signal }: {
    readonly store: TaskStore;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  },
): Promise<readonly string[]> {
  const [oldest] = candidates.toSorted();
  const used: string[] = [];
  let before: string | undefined;
  while (oldest !== undefined && !signal.aborted) {
    const page = await store.listTasks({ limit: AT_ONCE, ...(before ? { before } : {}) });
    used.push(...page.flatMap(({ directory }) => directory === "" ? [] : [directory]));
    before = page.at(-1)?.id;
    if (before === undefined || before < oldest) break;
    await clock.pause(PAUSE_MS, signal);
  }
  // A retry that was made meanwhile took its directory from a task that may have been read after it.
  const newest = await store.listTasks({ limit: AT_ONCE });
  return [...used, ...newest.map(({ directory }) => directory).filter((one) => one !== "")];
}

async function* namesIn(directory: string): AsyncGenerator<string> {
  try {
    for await (const { name } of Deno.readDir(directory)) yield name;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Removes a file, if it is there. */
export async function removeIfThere(path: string): Promise<void> {
  await Deno.remove(path).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}
