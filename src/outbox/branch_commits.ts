/**
 * What is on a branch at a forge: whose commits, and whether one may be put in their place. Commits of
 * others are never overwritten.
 *
 * @module
 */

import { NO_COMMIT } from "../git/change.ts";
import type { PullSearch } from "./pulls.ts";

/** A branch at a forge, and the commit that is to be its newest. */
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

/**
 * Who else has commits on a branch, in a sentence; `undefined` if every commit there that its base does
 * not have is svc's own.
 */
export async function findOthers(
  { at, forge, repository, message: { project }, host: { markers } }: PullSearch,
  { base, head }: { readonly base: string; readonly head: string },
): Promise<string | undefined> {
  const { isKnown, ahead, commits } = await at.compare(base, head);
  if (!isKnown || commits.length < ahead) return "somebody else";
  const names = new Set<string>();
  for (const { message, by, tree: treeOf } of commits) {
    // To know a tree may take calls, and only a commit with a mark can be svc's own.
    const tree = markers.mayHaveTask(message) ? await treeOf() : "";
    const place = { forge: forge.name, project, repository, tree };
    if (tree !== "" && markers.findTask(message, place) !== undefined) continue;
    names.add(by === "" ? "somebody else" : by);
  }
  return names.size === 0 ? undefined : [...names].slice(0, 3).join(" and ");
}
