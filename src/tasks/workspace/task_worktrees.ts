/**
 * Git worktrees, one for each task whose workspace has `isolation: worktree`, and the commits that
 * are kept of a task when its worktree goes.
 *
 * @module
 */

import { join, resolve } from "node:path";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { KeyedMutex } from "../../base/keyed_mutex.ts";
import type { Clock } from "../../base/clock.ts";
import { CancellationScope } from "../cancellation_scope.ts";
import type { PlannedWorkspace } from "../plan.ts";
import { isDirectory } from "./directory_fault.ts";
import { fetchUpstream } from "./git_fetch.ts";
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
import { findKept, noteKept, noteRepository } from "./kept_commits.ts";
import {
  collectPrivateGit,
  type HeldWorktree,
  openPrivateGit,
  type PrivateGit,
} from "./private_git.ts";
import { type SealedTree, sealTree } from "./sealed_tree.ts";
import type { ToolHost } from "./run_tool.ts";
import type { WrittenPlaces } from "./written_places.ts";

/** How the directory of a task is removed. */
export interface DirectoryRemoval {
  /** The task for which it is removed; a retry uses the directory that was made for another task. */
  readonly taskId: string;
  /** Whether commits that exist nowhere else are kept; without it they go. */
  readonly keepsCommits: boolean;
  /** The workspace, where that is known: finds the repository of a worktree without a note of it. */
  readonly from?: string | undefined;
  /** Ends the removal, which then counts as failed. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Most time for removing the directory of a task that is being ended; the rest of it is removed with
 * the task.
 */
const REMOVAL_MS = 10_000;

/** Calls `remove`, which its signal ends after a while; a failure is ignored. */
export async function removeInTime(
  clock: Clock,
  remove: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  using cancellation = new CancellationScope({});
  cancellation.endAfter(REMOVAL_MS, clock);
  await remove(cancellation.signal).catch(() => {});
}

/** Makes and removes worktrees. */
export class TaskWorktrees {
  /** The directory that holds them, each under the id of its task. */
  readonly parent: string;
  readonly #host: ToolHost;
  readonly #written: Pick<WrittenPlaces, "check">;
  /** git locks its repository, so worktrees of one repository are made and removed in turn. */
  readonly #turns = new KeyedMutex();
  /** The private parts of repositories that sandboxes use, by the names of their worktrees. */
  readonly #held = new Map<string, { users: number; readonly git: PrivateGit }>();

  /** Worktrees go below `parent`. */
  constructor(parent: string, host: ToolHost, written: Pick<WrittenPlaces, "check">) {
    this.parent = parent;
    this.#written = written;
    this.#host = host;
  }

  /**
   * Makes the worktree of a task. Returns the path in it that corresponds to the workspace's.
   *
   * @throws {AppError} `invalid` when it cannot be made or `cancellation` ended that.
   */
  async make(
    taskId: string,
    workspace: PlannedWorkspace,
    cancellation: CancellationScope,
  ): Promise<string> {
    const { path: from, fetch } = workspace;
    const { signal } = cancellation;
    const tools = { host: this.#host, taskId, signal };
    const { common, prefix } = await findRepository(from, tools);
    await this.#written.check(from, common);
    const worktree = { path: join(this.parent, taskId), branch: branchOf(taskId) };
    const kept = keptRef(taskId);
    await Deno.mkdir(this.parent, { recursive: true, mode: 0o700 });
    return await this.#turns.run(common, async () => {
      const rest = await removeWorktree(worktree, { ...tools, common, kept });
      await noteRepository(this.parent, taskId, rest);
      try {
        const commit = fetch === true ? await fetchUpstream(from, tools) : "HEAD";
        const start = await addWorktree({ from, commit, kept }, worktree, tools);
        if (start !== undefined) await noteRepository(this.parent, taskId, { ...rest, start });
        const directory = resolve(worktree.path, prefix);
        if (await isDirectory(directory)) return directory;
        const what = `"${prefix}" is not in the commit that is checked out there`;
        throw new AppError("invalid", `${what}: commit something in it`);
      } catch (error) {
        // Removed in this turn, because other tasks may have the next turns for a long time.
        if (cancellation.why !== "stop") {
          await removeInTime(this.#host.clock, async (signal) => {
            const left = await removeWorktree(worktree, { ...tools, common, kept, signal });
            await noteKept(this.parent, taskId, left);
          });
        }
        throw error;
      }
    }, signal);
  }

  /**
   * Removes the worktree with this name. Returns the commits that are kept of it.
   *
   * @throws {AppError} `invalid` when it cannot be removed or `signal` ended that.
   */
  async remove(
    name: string,
    { taskId, keepsCommits, from, signal }: DirectoryRemoval,
  ): Promise<KeptCommits> {
    const worktree = { path: join(this.parent, name), branch: branchOf(name) };
    const tools = { host: this.#host, taskId, ...defined({ signal }) };
    const noted = findKept(this.parent, name);
    const common = noted?.repository ?? await this.#commonOf(from, tools);
    const kept = keepsCommits ? keptRef(taskId) : undefined;
    const held = this.#heldOf(name);
    // Of a step that was killed: what cannot be taken is no reason to keep the directory.
    if (held !== undefined) await collectPrivateGit(held, tools).catch(() => {});
    const left = await this.#turns.run(
      common,
      () => removeWorktree(worktree, { ...tools, common, ...defined({ kept }) }),
      signal,
    );
    if (keepsCommits) await noteKept(this.parent, taskId, left);
    // It was made for the task that this one has retried.
    if (noted !== undefined && name !== taskId) await noteKept(this.parent, name, noted);
    return left;
  }

  /**
   * Makes the part of the repository that sandboxes in the worktree of this name use, or shares it with
   * those that use it now. The last of them to call `close` has it collected.
   *
   * @throws {AppError} `invalid` when it cannot be made, and from `close` when it cannot be collected.
   */
  async openGit(name: string, tools: Omit<Tools, "host">): Promise<
    PrivateGit & { readonly close: () => Promise<void> }
  > {
    const held = this.#heldOf(name);
    if (held === undefined) {
      throw new AppError("invalid", `The repository of the worktree "${name}" is not known`);
    }
    const how = { host: this.#host, ...tools };
    const turn = `${name} ${held.common}`;
    const git = await this.#turns.run(turn, async () => {
      const used = this.#held.get(name);
      if (used !== undefined) return used.users++, used.git;
      const made = await openPrivateGit(held, how);
      this.#held.set(name, { users: 1, git: made });
      return made;
    });
    const close = () =>
      this.#turns.run(turn, async () => {
        const used = this.#held.get(name);
        if (used === undefined || --used.users > 0) return;
        this.#held.delete(name);
        await collectPrivateGit(held, { host: this.#host, ...defined({ taskId: tools.taskId }) });
      });
    return { ...git, close };
  }

  /** A worktree with the repository that was noted when it was made, not the one that it names. */
  #heldOf(name: string): HeldWorktree | undefined {
    const common = findKept(this.parent, name)?.repository ?? "";
    if (common === "") return undefined;
    return { path: join(this.parent, name), branch: branchOf(name), name, common };
  }

  /**
   * The files of the worktree of this name as a git tree; `tmp` is an empty directory.
   *
   * @throws {AppError} `invalid` when they cannot be read.
   */
  async seal(name: string, tmp: string, tools: Omit<Tools, "host">): Promise<SealedTree> {
    const [held, start] = [this.#heldOf(name), this.startOf(name)];
    if (held === undefined || start === undefined) {
      throw new AppError("invalid", "It is not known at which commit the worktree has started");
    }
    return await sealTree(held, { start, tmp }, { host: this.#host, ...tools });
  }

  /** The id of the commit at which the worktree of this name started; `undefined` if that is not known. */
  startOf(name: string): string | undefined {
    return findKept(this.parent, name)?.start;
  }

  /** The commits that are kept of a task; `undefined` when there are none. */
  findCommits(taskId: string): KeptCommits | undefined {
    return findKept(this.parent, taskId);
  }

  /** Removes the commits that are kept of a task. Returns the refs that held them. */
  async dropCommits(taskId: string, signal: AbortSignal | undefined): Promise<readonly string[]> {
    const kept = findKept(this.parent, taskId);
    if (kept === undefined) return [];
    const { repository, refs } = kept;
    const tools = { host: this.#host, taskId, ...defined({ signal }) };
    await this.#turns.run(repository, () => dropCommits(kept, tools), signal);
    await noteKept(this.parent, taskId, { repository, refs: [] });
    return refs;
  }

  /** The repository that a workspace is in; empty where it is in none. */
  async #commonOf(workspace: string | undefined, tools: Tools): Promise<string> {
    if (workspace === undefined || !await isDirectory(workspace)) return "";
    const repository = await findRepository(workspace, tools).catch(() => undefined);
    return repository?.common ?? "";
  }
}
