/**
 * Pull requests at GitHub, as messages find them again: by their branch, and by the marker at the end of
 * their text.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { pagesOf } from "../connections/api/pages.ts";
import { nameOf } from "../connections/api/platform_name.ts";
import { mustBeOk } from "../connections/api/forge.ts";
import type { ForgeSending } from "./forge_access.ts";
import type { PullMarker } from "./marker.ts";
import { nthBranch } from "./pull_branches.ts";

/** A pull request whose head is a branch of the repository itself. */
export interface FoundPull {
  readonly number: number;
  readonly isOpen: boolean;
  /** When it was closed or merged, in milliseconds since the epoch by GitHub's clock. */
  readonly closedAt?: number;
  readonly branch: string;
  readonly base: string;
  /** Newest commit of its branch. */
  readonly sha: string;
  readonly title: string;
  readonly body: string;
  readonly userId: string;
  /** Login of who opened it. */
  readonly by: string;
  readonly labels: readonly string[];
  /** Its page; empty if the API does not say. */
  readonly url: string;
  /** Of svc's own pull request. */
  readonly marker?: PullMarker;
}

/** What finding pull requests needs. */
export type PullSearch = Pick<ForgeSending, "at" | "forge" | "call" | "path" | "repository"> & {
  readonly message: { readonly project: string };
  readonly host: Pick<ForgeSending["host"], "markers" | "clock">;
};

/** A pull request of an answer; `undefined` for one from a fork. */
export function readPull(
  data: unknown,
  { repository, message: { project }, host: { markers } }: PullSearch,
): FoundPull | undefined {
  const pull = objectIn(data);
  const head = objectIn(pull["head"]);
  const from = objectIn(head["repo"])["full_name"];
  if (typeof from !== "string" || from.toLowerCase() !== repository.toLowerCase()) return undefined;
  const { number, state, closed_at: closedAt } = pull;
  if (typeof number !== "number") return undefined;
  const body = textIn(pull["body"]);
  const branch = textIn(head["ref"]);
  const marker = markers.findPull(body, { forge: "github", project, repository, branch });
  const user = objectIn(pull["user"]);
  const closed = typeof closedAt === "string" ? Date.parse(closedAt) : NaN;
  return {
    number,
    isOpen: state === "open",
    ...Number.isNaN(closed) ? {} : { closedAt: closed },
    branch,
    base: textIn(objectIn(pull["base"])["ref"]),
    sha: textIn(head["sha"]),
    title: textIn(pull["title"]),
    body,
    userId: String(user["id"] ?? ""),
    by: nameOf(user["login"]),
    labels: Array.isArray(pull["labels"])
      ? pull["labels"].map((label) => textIn(objectIn(label)["name"]))
      : [],
    url: pageIn(pull["html_url"]),
    ...marker === undefined ? {} : { marker },
  };
}

/** The pull requests of a branch, the newest first. */
async function pullsOfBranch(
  search: PullSearch,
  branch: string,
): Promise<readonly FoundPull[]> {
  const { path, repository, call } = search;
  const head = encodeURIComponent(`${repository.split("/")[0]}:${branch}`);
  const { data } = mustBeOk(
    await call({ path: `${path}/pulls?head=${head}&state=all&per_page=100` }),
  );
  return (Array.isArray(data) ? data : []).map((one) => readPull(one, search))
    .filter((pull) => pull !== undefined)
    .filter((pull) => pull.branch === branch) // a server may ignore `head`
    .toSorted((one, other) => other.number - one.number);
}

/** The pull request with this number; `undefined` for one from a fork. */
export async function pullOf(search: PullSearch, number: number): Promise<FoundPull | undefined> {
  const { data } = mustBeOk(await search.call({ path: `${search.path}/pulls/${number}` }));
  return readPull(data, search);
}

/** Svc's own open pull request of the same content onto the same branch; `undefined` for none. */
export async function findSame(
  search: PullSearch,
  { base, tree, except }: {
    readonly base: string;
    readonly tree: string;
    /** The branch of the pull request that may have this content. */
    readonly except: string;
  },
): Promise<FoundPull | undefined> {
  const { path, call, host } = search;
  const first = `${path}/pulls?state=open&base=${encodeURIComponent(base)}&per_page=100`;
  const read = async (path: string) => mustBeOk(await call({ path }));
  let pages = 0;
  for await (const { data } of pagesOf(first, { read, clock: host.clock })) {
    for (const one of Array.isArray(data) ? data : []) {
      const pull = readPull(one, search);
      if (pull?.marker?.tree === tree && pull.branch !== except) return pull;
    }
    if (++pages >= MAX_PAGES) break;
  }
  return undefined;
}

/** Most pages of open pull requests in which one of the same content is looked for. */
const MAX_PAGES = 5;
/** Most pull requests of one key. */
const MAX_NTH = 50;

/** The branch of a key at present, and its pull requests. */
export interface BranchOfKey {
  readonly branch: string;
  /** The open pull request of the key. */
  readonly open?: FoundPull;
  /** The pull requests of the key that were closed or merged, the newest first. */
  readonly closed: readonly FoundPull[];
}

/**
 * Finds the branch of a key: that of its open pull request, or the first one without a pull request.
 *
 * @throws {AppError} `refused` if somebody else has a pull request from that branch.
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
  const closed: FoundPull[] = [];
  for (let nth = 1; nth <= MAX_NTH; nth++) {
    const branch = nthBranch(name, nth);
    const pulls = await pullsOfBranch(search, branch);
    const isOther = pulls.some(({ marker }) => marker !== undefined && marker.key !== key);
    if (isOther) continue; // fix-4 is the fourth of "fix", and the first of "fix-4"
    const open = pulls.find(({ isOpen }) => isOpen);
    if (open === undefined && pulls.length === 0) return { branch, closed };
    closed.unshift(...pulls.filter(({ isOpen }) => !isOpen));
    if (open === undefined) continue;
    if (open.marker !== undefined || open.userId === own) return { branch, open, closed };
    const message = `Pull request #${open.number} of ${open.by} is from the branch ${branch}, ` +
      "which svc would use: close it, or use another --key";
    throw new AppError("refused", message);
  }
  const message = `There are ${MAX_NTH} closed pull requests of the branch ${name} already: use ` +
    "another --key";
  throw new AppError("refused", message);
}

/** The address of a page, which goes to a terminal; empty for anything else. */
function pageIn(value: unknown): string {
  return typeof value === "string" && /^https?:\/\/[!-~]{1,500}$/.test(value) ? value : "";
}

/** A member that is an object; an empty one for anything else. */
export function objectIn(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** A member that is a text; an empty one for anything else. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}
