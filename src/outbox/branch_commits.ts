/**
 * What is on a branch at GitHub: whose commits, and whether one may be put in their place. Commits of
 * others are never overwritten.
 *
 * @module
 */

import { nameOf } from "../connections/api/platform_name.ts";
import { NO_COMMIT } from "../git/change.ts";
import { mustBeOk } from "../connections/api/forge.ts";
import { objectIn, type PullSearch, textIn } from "./github_pulls.ts";

/** A branch at GitHub, and the commit that is to be its newest. */
export interface BranchNow {
  /** Newest commit of the branch; absent if there is no such branch. */
  readonly head?: string;
  /** The commit of a message, and the commit that it is on top of. */
  readonly commit: string;
  readonly start: string;
}

/** What has to be done for a commit to be the newest of its branch. */
export type NextPush =
  | { readonly push: "none" }
  | {
    readonly push: "forward";
    /** What the branch has to be before. */
    readonly old: string;
  }
  /** Only if every commit there is svc's own. */
  | { readonly push: "replace"; readonly old: string };

/** Decides how a commit gets onto its branch. Pure. */
export function nextPush({ head, commit, start }: BranchNow): NextPush {
  if (head === undefined) return { push: "forward", old: NO_COMMIT };
  if (head === commit) return { push: "none" };
  return { push: head === start ? "forward" : "replace", old: head };
}

/** Newest commit of a branch; `undefined` if there is no such branch. */
export async function headOf(
  { call, path }: Pick<PullSearch, "call" | "path">,
  branch: string,
): Promise<string | undefined> {
  const answer = await call({ path: `${path}/git/ref/heads/${pathOf(branch)}` });
  if (!answer.ok && answer.status === 404) return undefined;
  const { object, ref } = objectIn(mustBeOk(answer).data);
  const sha = textIn(objectIn(object)["sha"]);
  // Gitea lists what begins with the name.
  return ref === `refs/heads/${branch}` && sha !== "" ? sha : undefined;
}

/** The commits that one commit has and another, or a branch, does not have. */
export interface Compared {
  /** Whether GitHub knows both. */
  readonly isKnown: boolean;
  /** How many commits it is ahead. */
  readonly ahead: number;
  readonly behind: number;
  /** Those commits, the oldest first; not all of a long list. */
  readonly commits: readonly ComparedCommit[];
}

/** One commit that is ahead. */
export interface ComparedCommit {
  readonly sha: string;
  readonly tree: string;
  readonly message: string;
  /** Login or name of its author. */
  readonly by: string;
}

/** Compares two commits or branches. */
export async function compare(
  { call, path }: Pick<PullSearch, "call" | "path">,
  from: string,
  to: string,
): Promise<Compared> {
  const answer = await call({ path: `${path}/compare/${pathOf(from)}...${pathOf(to)}` });
  if (!answer.ok && answer.status === 404) {
    return { isKnown: false, ahead: 0, behind: 0, commits: [] };
  }
  const data = objectIn(mustBeOk(answer).data);
  const commits = Array.isArray(data["commits"]) ? data["commits"].map(readCommit) : [];
  // Gitea says only how many commits there are.
  const ahead = Number(data["ahead_by"] ?? data["total_commits"] ?? NaN);
  return {
    isKnown: Number.isSafeInteger(ahead) && ahead >= 0,
    ahead,
    behind: Number(data["behind_by"] ?? 0),
    commits,
  };
}

function readCommit(data: unknown): ComparedCommit {
  const one = objectIn(data);
  const commit = objectIn(one["commit"]);
  return {
    sha: textIn(one["sha"]),
    tree: textIn(objectIn(commit["tree"])["sha"]),
    message: textIn(commit["message"]),
    by: nameOf(objectIn(one["author"])["login"], objectIn(commit["author"])["name"]),
  };
}

/**
 * Who else has commits on a branch, in a sentence; `undefined` if every commit there that its base does
 * not have is svc's own.
 */
export async function findOthers(
  search: PullSearch,
  { base, head }: { readonly base: string; readonly head: string },
): Promise<string | undefined> {
  const { repository, message: { project }, host: { markers } } = search;
  const { isKnown, ahead, commits } = await compare(search, base, head);
  if (!isKnown || commits.length < ahead) return "somebody else";
  const others = commits.filter(({ message, tree }) =>
    markers.findTask(message, { forge: "github", project, repository, tree }) === undefined
  );
  if (others.length === 0) return undefined;
  const names = new Set(others.map(({ by }) => by === "" ? "somebody else" : by));
  return [...names].slice(0, 3).join(" and ");
}

/** A branch or a commit as part of a path. */
function pathOf(name: string): string {
  return name.split("/").map(encodeURIComponent).join("/");
}
