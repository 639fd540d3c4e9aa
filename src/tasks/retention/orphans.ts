/**
 * Removes files of tasks that no longer exist: svc may crash after it has removed a task and before it
 * has removed the files. It runs once after each start, slowly, so that it delays no request.
 *
 * @module
 */

import { join } from "node:path";
import { defined } from "../../base/defined.ts";
import { namesIn } from "../../base/names_in.ts";
import { KEPT_SUFFIX } from "../workspace/kept_commits.ts";
import type { RetentionHost } from "./retention_host.ts";

/** Tasks per query, and the pause after each: a small part of the store's capacity. */
const PAGE_SIZE = 50;
const PAUSE_MS = 200;

/** Removes the logs and directories of tasks that are gone. */
export async function removeOrphans(host: RetentionHost, signal: AbortSignal): Promise<void> {
  const { dirs, logs: { left }, log } = host;
  if (left !== undefined) {
    for await (const id of withoutTask(left.owners(), host, signal)) {
      await left.remove(id);
      log.info("removed the log of a task that no longer exists", { task: id });
    }
  }
  for (const parent of [dirs.worktrees, dirs.copies]) {
    const gone = withoutTask(directoryOwners(parent), host, signal);
    const candidates = await Array.fromAsync(gone);
    const used = await directoriesInUse(candidates, host, signal);
    for (const id of candidates) {
      const path = join(parent, id);
      if (signal.aborted || used.some((one) => `${one}/`.startsWith(`${path}/`))) continue;
      await host.discard({ id, directory: path }, signal);
      log.info("directory of a removed task removed", { task: id });
    }
  }
}

/** The ids of tasks with which the names of directories and of notes about commits begin. */
async function* directoryOwners(parent: string): AsyncGenerator<string> {
  for await (const name of namesIn(parent)) {
    const id = name.endsWith(KEPT_SUFFIX) ? name.slice(0, -KEPT_SUFFIX.length) : name;
    if (/^[0-9A-Z]{26}$/.test(id)) yield id;
  }
}

/** The tasks among `owners` that no longer exist. */
async function* withoutTask(
  owners: AsyncIterable<string>,
  { store, clock }: RetentionHost,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const missing = async (ids: readonly string[]) => {
    const tasks = await Promise.all(ids.map((id) => store.findTasks(id)));
    await clock.pause(PAUSE_MS, signal);
    return ids.filter((_, index) => tasks[index]?.length === 0);
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
 * Directories that tasks use. A retry uses the directory of the task that it retries, also when that
 * task no longer exists.
 */
async function directoriesInUse(
  candidates: readonly string[],
  { store, clock }: RetentionHost,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [oldest] = candidates.toSorted();
  const used: string[] = [];
  let before: string | undefined;
  while (oldest !== undefined && !signal.aborted) {
    const page = await store.listTasks({ limit: PAGE_SIZE, ...defined({ before }) });
    used.push(...page.flatMap(({ directory }) => directory === "" ? [] : [directory]));
    before = page.at(-1)?.id;
    if (before === undefined || before < oldest) break;
    await clock.pause(PAUSE_MS, signal);
  }
  // A retry that was stored during these queries may use a directory that is on no page.
  const newest = await store.listTasks({ limit: PAGE_SIZE });
  return [...used, ...newest.map(({ directory }) => directory).filter((one) => one !== "")];
}
