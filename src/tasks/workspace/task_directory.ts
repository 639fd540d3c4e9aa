/**
 * The directory in which the steps of a task run: the workspace itself, or a git worktree or a copy
 * of it that belongs to the task. The task's own directory is removed when the task succeeds, and
 * kept otherwise, so that a user can inspect it or a retry can continue in it.
 *
 * @module
 */

import { join, relative, resolve } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { defined } from "../../base/defined.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { findShortage } from "../../base/shortage.ts";
import { CancellationScope } from "../cancellation_scope.ts";
import {
  addWorktree,
  branchOf,
  dropCommits,
  findRepository,
  type KeptCommits,
  keptRef,
  removeWorktree,
  type Tools,
} from "./git_worktree.ts";
import { fetchUpstream } from "./git_fetch.ts";
import { findKept, noteKept, noteRepository } from "./kept_commits.ts";
import { KeyedMutex } from "../../base/keyed_mutex.ts";
import type { Plan } from "../plan.ts";
import { runTool, toolError, type ToolHost } from "./run_tool.ts";

/** What directories of tasks need. */
export interface DirectoryHost extends ToolHost {
  readonly dirs: Pick<DataDir, "worktrees" | "copies">;
}

/** A task that needs a directory. */
export interface DirectoryUser {
  readonly taskId: string;
  /** Name of its workspace, for messages. */
  readonly workspace: string;
  /** The workspace, as it was planned. */
  readonly plan: Plan["workspace"];
}

/** How to remove a directory. */
export interface Removal {
  /** The workspace, where that is known: finds the repository of a worktree without a note of it. */
  readonly from?: string;
  /** Ends the removal, which then counts as failed. */
  readonly signal?: AbortSignal;
}

/**
 * Most time for removing a directory of a task that is being ended; a rest is removed with the
 * task.
 */
const TIDY_MS = 10_000;

const COPY = `
rm -rf -- "$2" "$2.part" && mkdir -p -m 700 -- "$2.part" &&
cp -RPp -- "$1/." "$2.part/" && mv -- "$2.part" "$2"`;

const REMOVE_COPY = `
rm -rf -- "$1" "$1.part" 2>/dev/null || { chmod -R u+rwX -- "$1"; rm -rf -- "$1" "$1.part"; }`;

/** Makes and removes the directories of tasks. */
export class TaskDirectories {
  readonly #host: DirectoryHost;
  /** git locks its repository: worktrees there are made and removed one after another. */
  readonly #turns = new KeyedMutex();

  /** Makes them where `host` says. */
  constructor(host: DirectoryHost) {
    this.#host = host;
  }

  /**
   * Makes the directory of a task that has not run yet; the rest of an earlier attempt is removed.
   *
   * @throws {AppError} `invalid` with what to do, when it cannot be made or `cancellation` ended
   * that; `overloaded` when the machine is short of something now.
   */
  async make(user: DirectoryUser, cancellation: CancellationScope): Promise<string> {
    const { plan, workspace } = user;
    try {
      const fault = await directoryFault(plan.path);
      if (fault !== undefined) throw new AppError("invalid", fault);
      switch (plan.isolation ?? "shared") {
        case "shared":
          return plan.path;
        case "worktree":
          return await this.#makeWorktree(user, cancellation);
        case "copy":
          return await this.#makeCopy(user, cancellation.signal);
      }
    } catch (cause) {
      if (!(cause instanceof AppError)) throw cause;
      // else the next start makes it anew
      if (cancellation.why !== "stop") await this.#removeHalf(user);
      if (cause.code === "overloaded") throw cause;
      const message = `Workspace "${workspace}" cannot be used: ${cause.message}`;
      throw new AppError("invalid", message, { cause });
    }
  }

  /**
   * Removes a task's own directory. Commits in it that exist nowhere else are kept as long as the
   * task. Returns a sentence for the user about them; empty when there are none.
   *
   * @throws {AppError} `invalid` when it cannot be removed or `signal` ended that.
   */
  async remove(taskId: string, directory: string, removal: Removal = {}): Promise<string> {
    const kept = await this.#remove(directory, { ...removal, taskId, kept: keptRef(taskId) });
    await noteKept(this.#host.dirs.worktrees, taskId, kept);
    return kept.refs.length === 0 ? "" : whereKept(kept);
  }

  /**
   * Removes everything of a task: its own directory, if it has one, and its commits. Returns what
   * was removed, as a user would name it.
   *
   * @throws {AppError} `invalid` when it cannot be removed or `signal` ended that.
   */
  async discard(
    { id, directory }: { readonly id: string; readonly directory: string },
    removal: Removal = {},
  ): Promise<readonly string[]> {
    const { worktrees } = this.#host.dirs;
    if (directory !== "") await this.#remove(directory, { ...removal, taskId: id });
    const kept = await findKept(worktrees, id);
    if (kept !== undefined) {
      const { signal } = removal;
      const tools = { host: this.#host, taskId: id, ...defined({ signal }) };
      await this.#turns.run(kept.repository, () => dropCommits(kept, tools), signal);
      await noteKept(worktrees, id, { repository: kept.repository, refs: [] });
    }
    return [...directory === "" ? [] : [directory], ...kept?.refs ?? []];
  }

  /** A sentence about the commits of a task whose worktree is gone; empty when there are none. */
  async whereCommitsAre(taskId: string): Promise<string> {
    const kept = await findKept(this.#host.dirs.worktrees, taskId);
    return kept === undefined || kept.refs.length === 0 ? "" : whereKept(kept);
  }

  /** Removes a directory; `kept` names the ref under which commits are kept, else they go. */
  async #remove(
    directory: string,
    { from, kept, ...how }: Removal & { readonly taskId: string; readonly kept?: string },
  ): Promise<KeptCommits> {
    const tools = { host: this.#host, ...how };
    const { worktrees, copies } = this.#host.dirs;
    const copy = nameIn(copies, directory);
    if (copy !== undefined) {
      const tool = { script: REMOVE_COPY, args: [join(copies, copy)], ...how };
      const removed = await runTool(tool, this.#host);
      if (removed.code === 0) return { repository: "", refs: [] };
      throw new AppError("invalid", `"${directory}" cannot be removed: ${toolError(removed)}`);
    }
    const name = nameIn(worktrees, directory);
    if (name === undefined) throw new Error(`"${directory}" is not a directory of a task`);
    const worktree = { path: join(worktrees, name), branch: branchOf(name) };
    const noted = await findKept(worktrees, name);
    const common = noted?.repository ?? await this.#commonOf(from, tools);
    const removal = { ...tools, common, ...defined({ kept }) };
    const left = await this.#turns.run(
      common,
      () => removeWorktree(worktree, removal),
      tools.signal,
    );
    // It may have been made for an earlier task, which this one has retried.
    if (noted !== undefined && name !== how.taskId) await noteKept(worktrees, name, noted);
    return left;
  }

  /** The repository that a workspace is in; empty where it is in none. */
  async #commonOf(from: string | undefined, tools: Tools): Promise<string> {
    if (from === undefined || !await isDirectory(from)) return "";
    const found = await findRepository(from, tools).catch(() => undefined);
    return found?.common ?? "";
  }

  async #makeWorktree(
    { taskId, plan }: DirectoryUser,
    cancellation: CancellationScope,
  ): Promise<string> {
    const { worktrees } = this.#host.dirs;
    const { signal } = cancellation;
    const tools = { host: this.#host, taskId, signal };
    const { common, prefix } = await findRepository(plan.path, tools);
    const worktree = { path: join(worktrees, taskId), branch: branchOf(taskId) };
    await Deno.mkdir(worktrees, { recursive: true, mode: 0o700 });
    const kept = keptRef(taskId);
    return await this.#turns.run(common, async () => {
      const rest = await removeWorktree(worktree, { ...tools, common, kept });
      await noteRepository(worktrees, taskId, rest);
      try {
        const commit = plan.fetch === true ? await fetchUpstream(plan.path, tools) : "HEAD";
        await addWorktree({ from: plan.path, commit, kept }, worktree, tools);
        const directory = resolve(worktree.path, prefix);
        if (await isDirectory(directory)) return directory;
        const what = `"${prefix}" is not in the commit that is checked out there`;
        throw new AppError("invalid", `${what}: commit something in it`);
      } catch (error) {
        // In the same turn: the next one may be long in coming.
        if (cancellation.why !== "stop") {
          await inTime(
            this.#host.clock,
            async (signal) => {
              const left = await removeWorktree(worktree, { ...tools, common, kept, signal });
              await noteKept(worktrees, taskId, left);
            },
          );
        }
        throw error;
      }
    }, signal);
  }

  /** Removes the rest of a directory of a task that ends without one. */
  async #removeHalf({ taskId, plan }: DirectoryUser): Promise<void> {
    const { worktrees, copies } = this.#host.dirs;
    const parent =
      { shared: undefined, worktree: worktrees, copy: copies }[plan.isolation ?? "shared"];
    if (parent === undefined) return;
    const path = join(parent, taskId);
    if (!await isDirectory(path) && !await isDirectory(`${path}.part`)) return;
    await inTime(
      this.#host.clock,
      (signal) => this.remove(taskId, path, { from: plan.path, signal }),
    );
  }

  async #makeCopy({ taskId, plan }: DirectoryUser, signal: AbortSignal): Promise<string> {
    const { copies } = this.#host.dirs;
    await Deno.mkdir(copies, { recursive: true, mode: 0o700 });
    const [from, to] = await Promise.all([Deno.realPath(plan.path), Deno.realPath(copies)]);
    if (`${to}/`.startsWith(from === "/" ? from : `${from}/`)) {
      throw new AppError(
        "invalid",
        `"${plan.path}" contains the data directory, where its copy would go: move one of them`,
      );
    }
    const path = join(copies, taskId);
    const tool = { script: COPY, args: [plan.path, path], signal, taskId };
    const made = await runTool(tool, this.#host);
    if (made.code === 0) return path;
    throw new AppError("invalid", `"${plan.path}" cannot be copied: ${toolError(made)}`);
  }
}

/** Where commits are, as a sentence without its end. */
function whereKept({ repository, refs }: KeptCommits): string {
  return `its commits were kept as ${refs.join(" and ")} in "${repository}"`;
}

/** Removes within a time limit; a rest stays. */
async function inTime(
  clock: Clock,
  tidy: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  using cancellation = new CancellationScope({});
  cancellation.endAfter(TIDY_MS, clock);
  await tidy(cancellation.signal).catch(() => {});
}

/** Whether there is a directory at `path`, links resolved. */
export async function isDirectory(path: string): Promise<boolean> {
  const info = await Deno.stat(path).catch(() => undefined);
  return info?.isDirectory === true;
}

/** What is wrong with the path of a workspace, and what to do; `undefined` for a directory. */
export async function directoryFault(path: string): Promise<string | undefined> {
  try {
    if ((await Deno.stat(path)).isDirectory) return undefined;
  } catch (error) {
    if (findShortage(error) !== undefined) throw error;
    const why = error instanceof Deno.errors.NotFound
      ? "does not exist: make it, or change the path of the Workspace"
      : `cannot be used: ${messageOf(error)}`;
    return `"${path}" ${why}`;
  }
  return `"${path}" is not a directory: change the path of the Workspace`;
}

/** The name below `parent` that `path` is or lies under; nothing else is ever removed. */
function nameIn(parent: string, path: string): string | undefined {
  const [name = ""] = relative(parent, path).split("/");
  return /^[0-9A-Za-z]{1,64}$/.test(name) ? name : undefined;
}
