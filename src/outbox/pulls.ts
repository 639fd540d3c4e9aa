/**
 * Pulls at a forge, as messages find them again: by their branch, and by the marker at the end of their
 * text.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { capitalPull } from "../base/forge_names.ts";
import type { FoundPull } from "../connections/api/forge.ts";
import type { ForgeSending } from "./forge_access.ts";
import type { PullMarker } from "./marker.ts";
import { nthBranch } from "./pull_branches.ts";

/** A pull with the marker of svc, if it is svc's own. */
export interface MarkedPull extends FoundPull {
  readonly marker?: PullMarker;
}

/** What finding pulls needs. */
export type PullSearch = Pick<ForgeSending, "at" | "forge" | "repository"> & {
  readonly message: { readonly project: string };
  readonly host: Pick<ForgeSending["host"], "markers">;
};

/** Reads the marker of a pull. */
export function withMarker(
  pull: FoundPull,
  { forge, repository, message: { project }, host: { markers } }: PullSearch,
): MarkedPull {
  const place = { forge: forge.name, project, repository, branch: pull.branch };
  const marker = markers.findPull(pull.body, place);
  return marker === undefined ? pull : { ...pull, marker };
}

/** Svc's own open pull of the same content onto the same branch; `undefined` for none. */
export async function findSame(
  search: PullSearch,
  { base, tree, except }: {
    readonly base: string;
    readonly tree: string;
    /** The branch of the pull that may have this content. */
    readonly except: string;
  },
): Promise<MarkedPull | undefined> {
  let pages = 0;
  for await (const page of search.at.openPulls(base)) {
    for (const one of page) {
      const pull = withMarker(one, search);
      if (pull.marker?.tree === tree && pull.branch !== except) return pull;
    }
    if (++pages >= MAX_PAGES) break;
  }
  return undefined;
}

/** Most pages of open pulls in which one of the same content is looked for. */
const MAX_PAGES = 5;
/** Most pulls of one key. */
const MAX_NTH = 50;

/** The branch of a key at present, and its pulls. */
export interface BranchOfKey {
  readonly branch: string;
  /** The open pull of the key. */
  readonly open?: MarkedPull;
  /** The pulls of the key that were closed or merged, the newest first. */
  readonly closed: readonly MarkedPull[];
}

/**
 * Finds the branch of a key: that of its open pull, or the first one without a pull.
 *
 * @throws {AppError} `refused` if somebody else has a pull from that branch.
 */
export async function findBranch(
  search: PullSearch,
  { branch: name, key, own }: {
    /** Name of the first branch of the key. */
    readonly branch: string;
    readonly key: string;
    /** Id of svc's own user; absent if it is not known. */
    readonly own?: string | undefined;
  },
): Promise<BranchOfKey> {
  const { at, forge: { words } } = search;
  const closed: MarkedPull[] = [];
  for (let nth = 1; nth <= MAX_NTH; nth++) {
    const branch = nthBranch(name, nth);
    const pulls = (await at.pullsFrom(branch)).map((pull) => withMarker(pull, search));
    const isOther = pulls.some(({ marker }) => marker !== undefined && marker.key !== key);
    if (isOther) continue; // fix-4 is the fourth of "fix", and the first of "fix-4"
    const open = pulls.find(({ isOpen }) => isOpen);
    if (open === undefined && pulls.length === 0) return { branch, closed };
    closed.unshift(...pulls.filter(({ isOpen }) => !isOpen));
    if (open === undefined) continue;
    if (open.marker !== undefined || open.userId === own) return { branch, open, closed };
    const message = `${capitalPull(words, open.number)} of ${open.by} is from the branch ` +
      `${branch}, which svc would use: close it, or use another --key`;
    throw new AppError("refused", message);
  }
  const message = `There are ${MAX_NTH} closed ${words.pull}s of the branch ${name} already: use ` +
    "another --key";
  throw new AppError("refused", message);
}
