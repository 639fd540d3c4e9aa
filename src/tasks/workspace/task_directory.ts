/**
 * The directory in which the steps of a task run: the workspace itself, or a git worktree or a copy
 * of it that belongs to the task. The task's own directory is removed when the task succeeds, and
 * kept otherwise, so that a user can inspect it or a retry can continue in it.
 *
 * @module
 */

import { join, relative } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { isThere } from "../../base/durable_files.ts";
import { AppError } from "../../base/errors.ts";
import { isolationOf } from "../../resources/workspace.ts";
import type { CancellationScope } from "../cancellation_scope.ts";
import type { PlannedWorkspace } from "../plan.ts";
import { directoryFault } from "./directory_fault.ts";
import type { KeptCommits } from "./git_worktree.ts";
import type { PrivateGit } from "./private_git.ts";
import { PRIVATE_SUFFIX } from "./private_git.ts";
import type { ToolHost } from "./run_tool.ts";
import type { SealedTree } from "./sealed_tree.ts";
import { PART_SUFFIX, TaskCopies } from "./task_copies.ts";
import { type DirectoryRemoval, removeInTime, TaskWorktrees } from "./task_worktrees.ts";
import type { WrittenPlaces } from "./written_places.ts";

/** A task that needs a directory. */
export interface DirectoryUser {
  readonly taskId: string;
  /** Name of its workspace, for messages. */
  readonly workspace: string;
  /** The workspace, as it was planned. */
  readonly plan: PlannedWorkspace;
}

/** A directory as a sandbox needs it. */
export interface Held {
  readonly root: string;
  readonly git?: PrivateGit & { readonly close: () => Promise<void> };
}

/** How a caller has a directory removed. */
export type Removal = Partial<Pick<DirectoryRemoval, "from" | "signal">>;

/** Makes and removes the directories of tasks. */
export class TaskDirectories {
  readonly #clock: Clock;
  readonly #worktrees: TaskWorktrees;
  readonly #copies: TaskCopies;
  readonly #written: Pick<WrittenPlaces, "check">;

  /** Makes them below `dirs`. */
  constructor(
    host: ToolHost,
    dirs: Pick<DataDir, "worktrees" | "copies">,
    written: Pick<WrittenPlaces, "check">,
  ) {
    this.#clock = host.clock;
    this.#written = written;
    this.#worktrees = new TaskWorktrees(dirs.worktrees, host, written);
    this.#copies = new TaskCopies(dirs.copies, host);
  }

  /**
   * Makes the directory of a task that has not run yet; the rest of an earlier attempt is removed.
   *
   * @throws {AppError} `invalid` with what to do, when it cannot be made or `cancellation` ended
   * that; `overloaded` when the machine is short of something now.
   */
  async make(user: DirectoryUser, cancellation: CancellationScope): Promise<string> {
    const { taskId, plan, workspace } = user;
    try {
      const fault = await directoryFault(plan.path);
      if (fault !== undefined) throw new AppError("invalid", fault);
      switch (isolationOf(plan)) {
        case "shared":
          return plan.path;
        case "worktree":
          return await this.#worktrees.make(taskId, plan, cancellation);
        case "copy":
          return await this.#copies.make(taskId, plan.path, {
            signal: cancellation.signal,
            ...await this.#written.check(plan.path),
          });
      }
    } catch (cause) {
      if (!(cause instanceof AppError)) throw cause;
      // When the daemon stops, its next start removes the rest.
      if (cancellation.why !== "stop") await this.#removeRest(user);
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
    const kept = await this.#remove(directory, { ...removal, taskId, keepsCommits: true });
    return whereKept(kept);
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
    const directories = directory === "" ? [] : [directory];
    for (const one of directories) {
      await this.#remove(one, { ...removal, taskId: id, keepsCommits: false });
    }
    return [...directories, ...await this.#worktrees.dropCommits(id, removal.signal)];
  }

  /**
   * The root of the directory in which a task runs, which can lie below it, and what git needs in a
   * sandbox there; without `git` it is no worktree of svc.
   */
  async hold(directory: string, tools: { signal?: AbortSignal; taskId: string }): Promise<Held> {
    const { parent } = this.#worktrees;
    const worktree = nameIn(parent, directory);
    if (worktree !== undefined) {
      return { root: join(parent, worktree), git: await this.#worktrees.openGit(worktree, tools) };
    }
    const copy = nameIn(this.#copies.parent, directory);
    return { root: copy === undefined ? directory : join(this.#copies.parent, copy) };
  }

  /**
   * The files of the worktree in which a task runs, as a git tree; `tmp` is an empty directory.
   *
   * @throws {AppError} `invalid` when they cannot be read, or it runs in no worktree.
   */
  async seal(
    directory: string,
    tmp: string,
    tools: { signal?: AbortSignal; taskId: string },
  ): Promise<SealedTree> {
    const worktree = nameIn(this.#worktrees.parent, directory);
    if (worktree !== undefined) return await this.#worktrees.seal(worktree, tmp, tools);
    throw new AppError(
      "invalid",
      '"diff" shows what a worktree changes: give the workspace "isolation: worktree"',
    );
  }

  /**
   * The id of the commit at which the directory of a task started; `undefined` where that is not known: it
   * is no worktree, or one on another machine.
   */
  startOf(directory: string): string | undefined {
    const worktree = nameIn(this.#worktrees.parent, directory);
    return worktree === undefined ? undefined : this.#worktrees.startOf(worktree);
  }

  /** The directories that were made for a task, also where that was not completed. */
  async madeFor(taskId: string): Promise<readonly string[]> {
    const paths = [this.#worktrees, this.#copies].map(({ parent }) => join(parent, taskId));
    const found = await Promise.all(paths.map(isLeftAt));
    return paths.filter((_, index) => found[index]);
  }

  /** A sentence about the commits of a task whose worktree is gone; empty when there are none. */
  whereCommitsAre(taskId: string): string {
    return whereKept(this.#worktrees.findCommits(taskId));
  }

  /** Removes a directory. Returns the commits that are kept of it. */
  async #remove(
    directory: string,
    removal: DirectoryRemoval,
  ): Promise<KeptCommits | undefined> {
    const copy = nameIn(this.#copies.parent, directory);
    if (copy !== undefined) {
      await this.#copies.remove(copy, removal);
      return undefined;
    }
    const worktree = nameIn(this.#worktrees.parent, directory);
    if (worktree !== undefined) return await this.#worktrees.remove(worktree, removal);
    throw new Error(`"${directory}" is not a directory of a task`);
  }

  /** Removes what an attempt to make the directory of a task has left. */
  async #removeRest({ taskId, plan }: DirectoryUser): Promise<void> {
    const { isolation = "shared", path: from } = plan;
    if (isolation === "shared") return;
    const { parent } = isolation === "copy" ? this.#copies : this.#worktrees;
    const path = join(parent, taskId);
    // A crash may have left the note about a worktree without the worktree.
    if (!await isLeftAt(path) && this.#worktrees.findCommits(taskId) === undefined) return;
    await removeInTime(this.#clock, (signal) => this.remove(taskId, path, { from, signal }));
  }
}

/** Whether the directory of a task is at `path`, or what is made beside it. */
async function isLeftAt(path: string): Promise<boolean> {
  const places = ["", PART_SUFFIX, PRIVATE_SUFFIX].map((suffix) => isThere(`${path}${suffix}`));
  return (await Promise.all(places)).includes(true);
}

/** The place of commits, as a sentence without its end; empty when there are none. */
function whereKept(kept: KeptCommits | undefined): string {
  if (kept === undefined || kept.refs.length === 0) return "";
  return `its commits were kept as ${kept.refs.join(" and ")} in "${kept.repository}"`;
}

/** The name below `parent` that `path` is or lies under; nothing else is ever removed. */
function nameIn(parent: string, path: string): string | undefined {
  const [name = ""] = relative(parent, path).split("/");
  return /^[0-9A-Za-z]{1,64}$/.test(name) ? name : undefined;
}
