/**
 * Removes files of tasks that no longer exist: a crash can come between the removal of a task and
 * that of its files. It runs once after each start, slowly, so that it delays no request.
 *
 * @module
 */

import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import type { Log } from "../../base/log.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { KEPT_SUFFIX } from "../workspace/kept_commits.ts";
import { findLogOwner, logPath } from "../log/log_format.ts";

/** What the search for orphans needs. */
export interface OrphansHost {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Logs and directories of tasks are there. */
  readonly dirs: DataDir;
  /** Removes a task's own directory and commits that are kept for it. */
  readonly discard: (
    task: { readonly id: string; readonly directory: string },
    signal: AbortSignal,
  ) => Promise<unknown>;
}

/** Tasks per query, and the pause after each: a small part of the store's capacity. */
const PAGE_SIZE = 50;
const PAUSE_MS = 200;

/** Removes the logs and directories of tasks that are gone. */
export async function removeOrphans(host: OrphansHost, signal: AbortSignal): Promise<void> {
  const { dirs, log, store, clock } = host;
  for await (
    const id of withoutTask(dirs.logs, { findOwner: findLogOwner, store, clock, signal })
  ) {
    await removeIfThere(logPath(dirs.logs, id));
    log.info("removed the log of a task that no longer exists", { task: id });
  }
  for (const parent of [dirs.worktrees, dirs.copies]) {
    const found = withoutTask(parent, { findOwner: findDirectoryOwner, store, clock, signal });
    const candidates = await Array.fromAsync(found);
    const used = await directoriesInUse(candidates, { store, clock, signal });
    for (const id of candidates) {
      const path = join(parent, id);
      if (signal.aborted || used.some((one) => `${one}/`.startsWith(`${path}/`))) continue;
      await host.discard({ id, directory: path }, signal);
      log.info("directory of a removed task removed", { task: id });
    }
  }
}

/** The task that a directory was made for, or whose commits a file notes: its name begins so. */
function findDirectoryOwner(name: string): string | undefined {
  const id = name.endsWith(KEPT_SUFFIX) ? name.slice(0, -KEPT_SUFFIX.length) : name;
  return /^[0-9A-Z]{26}$/.test(id) ? id : undefined;
}

/** Ids of tasks that no longer exist and have an entry in a directory. */
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
    if (batch.length < PAGE_SIZE) continue;
    yield* await missing(batch);
    batch = [];
  }
  yield* await missing(batch);
}

/**
 * Directories that tasks use: a retry continues in that of the task it retries, which may be gone.
 */
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
    const page = await store.listTasks({ limit: PAGE_SIZE, ...(before ? { before } : {}) });
    used.push(...page.flatMap(({ directory }) => directory === "" ? [] : [directory]));
    before = page.at(-1)?.id;
    if (before === undefined || before < oldest) break;
    await clock.pause(PAUSE_MS, signal);
  }
  // A retry stored during these queries may use a directory that no page has shown.
  const newest = await store.listTasks({ limit: PAGE_SIZE });
  return [...used, ...newest.map(({ directory }) => directory).filter((one) => one !== "")];
}

async function* namesIn(directory: string): AsyncGenerator<string> {
  try {
    for await (const { name } of Deno.readDir(directory)) yield name;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Removes a file, if it exists. */
export async function removeIfThere(path: string): Promise<void> {
  await Deno.remove(path).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}
