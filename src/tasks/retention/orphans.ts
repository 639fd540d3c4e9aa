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
import { namesIn } from "../../base/names_in.ts";
import type { LogStore } from "../../store/log_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { KEPT_SUFFIX } from "../workspace/kept_commits.ts";

/** What the search for orphans needs. */
export interface OrphansHost {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly logs: LogStore;
  /** Directories of tasks are there. */
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
  const { dirs, logs: { left }, log, store, clock } = host;
  if (left !== undefined) {
    for await (const id of withoutTask(left.owners(), { store, clock, signal })) {
      await left.remove(id);
      log.info("removed the log of a task that no longer exists", { task: id });
    }
  }
  for (const parent of [dirs.worktrees, dirs.copies]) {
    const found = withoutTask(directoryOwners(parent), { store, clock, signal });
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

/** The tasks that directories were made for, or whose commits files note: their names begin so. */
async function* directoryOwners(parent: string): AsyncGenerator<string> {
  for await (const name of namesIn(parent)) {
    const id = name.endsWith(KEPT_SUFFIX) ? name.slice(0, -KEPT_SUFFIX.length) : name;
    if (/^[0-9A-Z]{26}$/.test(id)) yield id;
  }
}

/** Those of the tasks that no longer exist. */
async function* withoutTask(
  owners: AsyncIterable<string>,
  { store, clock, signal }: {
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
  for await (const id of owners) {
    if (signal.aborted) return;
    batch.push(id);
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
