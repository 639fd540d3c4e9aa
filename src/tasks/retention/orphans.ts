/**
 * Removes files that no task of this node needs. svc may crash after it has removed a task, or another
 * node has taken it over, and before the files are removed; or after it has made a directory, and
 * before that is recorded. So this runs once after each start, slowly, so that it delays no request.
 *
 * @module
 */

import { join } from "node:path";
import { defined } from "../../base/defined.ts";
import { namesIn } from "../../base/names_in.ts";
import type { TaskFiles } from "../../store/retention_store.ts";
import type { Task } from "../../store/task_records.ts";
import { KEPT_SUFFIX } from "../workspace/kept_commits.ts";
import { PRIVATE_SUFFIX } from "../workspace/private_git.ts";
import { PART_SUFFIX } from "../workspace/task_copies.ts";
import type { RetentionHost } from "./retention_host.ts";

/** Tasks per query, and the pause after each: a small part of the store's capacity. */
const PAGE_SIZE = 50;
const PAUSE_MS = 200;

/** Removes the logs of tasks that are gone, and directories that no task of this node needs. */
export async function removeOrphans(host: RetentionHost, signal: AbortSignal): Promise<void> {
  const { dirs, logs: { left }, log } = host;
  if (left !== undefined) {
    for await (const [id, task] of withTasks(left.owners(), host, signal)) {
      if (task !== undefined) continue;
      await left.remove(id);
      log.info("removed the log of a task that no longer exists", { task: id });
    }
  }
  const here = await hereAt(host);
  const owners = new Set(await Array.fromAsync(directoryOwners(dirs.worktrees)));
  for await (const id of directoryOwners(dirs.copies)) owners.add(id);
  const candidates: string[] = [];
  for await (const [id, task] of withTasks(owners, host, signal)) {
    if (!await needsFiles(id, task, here)) candidates.push(id);
  }
  const used = await directoriesInUse(candidates, here, signal);
  for (const id of candidates) {
    if (signal.aborted || used.some((one) => one.split("/").includes(id))) continue;
    await removeUnneeded({ id, directory: "" }, here, signal);
    log.info("removed a directory that no task needs", { task: id });
  }
}

/**
 * Removes what a task has left on this node that another one has taken over, with a directory that was
 * made and not recorded.
 */
export async function removeLeft(
  left: TaskFiles,
  host: RetentionHost,
  signal: AbortSignal,
): Promise<void> {
  await removeUnneeded(left, await hereAt(host), signal);
}

/** This node. */
interface Here {
  readonly host: RetentionHost;
  /** The ids of the other nodes. */
  readonly others: ReadonlySet<string>;
}

async function hereAt(host: RetentionHost): Promise<Here> {
  const nodes = await host.store.listNodes();
  return { host, others: new Set(nodes.filter(({ isSelf }) => !isSelf).map(({ id }) => id)) };
}

/** Whether a task is on this node. The directory of one elsewhere may have the same path there. */
function isHere(task: Task | undefined, { others }: Here): task is Task {
  return task !== undefined && !others.has(task.node ?? "");
}

/**
 * Whether a task needs the directory that was made for it, or the note beside it. A retry that works in
 * the directory is another task.
 */
async function needsFiles(id: string, task: Task | undefined, here: Here): Promise<boolean> {
  const { directories } = here.host;
  if (!isHere(task, here)) return false;
  if (task.finishedAt === undefined || task.directory !== "") return true;
  return directories.whereCommitsAre(id) !== "" && (await directories.madeFor(id)).length === 0;
}

/**
 * Removes the files of a task, unless it needs them: it may have come back a moment ago. Commits of a
 * task that has ended here are kept.
 */
async function removeUnneeded(
  { id, directory }: TaskFiles,
  here: Here,
  signal: AbortSignal,
): Promise<void> {
  const { store, dirs, directories } = here.host;
  const [task] = await store.findTasks(id);
  if (await needsFiles(id, task, here)) return;
  const made = await directories.madeFor(id);
  if (isHere(task, here)) {
    for (const path of made.length > 0 ? made : [join(dirs.worktrees, id)]) {
      await directories.remove(id, path, { signal });
    }
    return;
  }
  for (const one of new Set([directory, ...made, ""])) {
    await directories.discard({ id, directory: one }, { signal });
  }
}

/** The ids of tasks with which the names of directories and of notes about commits begin. */
async function* directoryOwners(parent: string): AsyncGenerator<string> {
  for await (const name of namesIn(parent)) {
    const suffixes = [KEPT_SUFFIX, PART_SUFFIX, PRIVATE_SUFFIX];
    const suffix = suffixes.find((one) => name.endsWith(one)) ?? "";
    const id = name.slice(0, name.length - suffix.length);
    if (/^[0-9A-Z]{26}$/.test(id)) yield id;
  }
}

/** Each of these ids with its task, if it still exists. */
async function* withTasks(
  owners: AsyncIterable<string> | Iterable<string>,
  { store, clock }: RetentionHost,
  signal: AbortSignal,
): AsyncGenerator<readonly [string, Task | undefined]> {
  const read = async (ids: readonly string[]) => {
    const tasks = await Promise.all(ids.map((id) => store.findTasks(id)));
    await clock.pause(PAUSE_MS, signal);
    return ids.map((id, index) => [id, tasks[index]?.[0]] as const);
  };
  let batch: string[] = [];
  for await (const id of owners) {
    if (signal.aborted) return;
    batch.push(id);
    if (batch.length < PAGE_SIZE) continue;
    yield* await read(batch);
    batch = [];
  }
  yield* await read(batch);
}

/**
 * Directories that tasks of this node use. A retry uses the directory of the task that it retries, also
 * when that task no longer exists.
 */
async function directoriesInUse(
  candidates: readonly string[],
  here: Here,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { store, clock } = here.host;
  const usedBy = (tasks: readonly Task[]) =>
    tasks.filter((task) => task.directory !== "" && isHere(task, here))
      .map(({ directory }) => directory);
  const [oldest] = candidates.toSorted();
  const used: string[] = [];
  let before: string | undefined;
  while (oldest !== undefined && !signal.aborted) {
    const page = await store.listTasks({ limit: PAGE_SIZE, ...defined({ before }) });
    used.push(...usedBy(page));
    before = page.at(-1)?.id;
    if (before === undefined || before < oldest) break;
    await clock.pause(PAUSE_MS, signal);
  }
  // A retry that was stored during these queries may use a directory that is on no page.
  return [...used, ...usedBy(await store.listTasks({ limit: PAGE_SIZE }))];
}
