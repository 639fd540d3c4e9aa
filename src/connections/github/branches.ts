/**
 * Branches and commits at GitHub.
 *
 * @module
 */

import { objectIn, textIn } from "../../base/json.ts";
import {
  type ComparedCommit,
  type ForgeBranches,
  mustBeOk,
  type RepositoryHost,
} from "../api/forge.ts";
import { nameOf } from "../api/platform_name.ts";
import { apiUrlOf } from "../../resources/connection.ts";
import { treeId } from "../api/tree_id.ts";
import { isGitea } from "./hooks.ts";

/** Most pages of a root tree at Gitea. */
const MAX_PAGES = 10;

/** The branches of a repository. */
export function gitHubBranches({ connection, repository, call }: RepositoryHost): ForgeBranches {
  const path = `/repos/${repository}`;
  const isOther = isGitea(apiUrlOf(connection.spec));
  const refs = isOther ? "git/refs" : "git/ref";
  return {
    async headOf(branch) {
      const answer = await call({ path: `${path}/${refs}/heads/${pathOf(branch)}` });
      if (!answer.ok && answer.status === 404) return undefined;
      // Gitea lists all that begins with the name.
      const found = [mustBeOk(answer).data].flat().map(objectIn)
        .find(({ ref }) => ref === `refs/heads/${branch}`);
      const sha = textIn(objectIn(found?.["object"])["sha"]);
      return sha === "" ? undefined : sha;
    },

    async compare(from, to) {
      const answer = await call({ path: `${path}/compare/${pathOf(from)}...${pathOf(to)}` });
      if (!answer.ok && answer.status === 404) {
        return { isKnown: false, ahead: 0, behind: 0, commits: [] };
      }
      const data = objectIn(mustBeOk(answer).data);
      // Gitea says only how many commits there are.
      const ahead = Number(data["ahead_by"] ?? data["total_commits"] ?? NaN);
      return {
        isKnown: Number.isSafeInteger(ahead) && ahead >= 0,
        ahead,
        behind: Number(data["behind_by"] ?? 0),
        commits: Array.isArray(data["commits"])
          ? data["commits"].map((one) => isOther ? commitOfGitea(one) : toCommit(one))
          : [],
      };
    },
  };

  function commitOfGitea(data: unknown): ComparedCommit {
    const commit = toCommit(data);
    return { ...commit, tree: () => treeAtGitea(commit.sha) };
  }

  /** Gitea names a commit where its tree should stand, so the root is listed, and its id computed. */
  async function treeAtGitea(sha: string): Promise<string> {
    const entries: unknown[] = [];
    for (let page = 1; page <= MAX_PAGES; page++) {
      const query = new URLSearchParams({ page: String(page), per_page: "1000" });
      const data = objectIn(
        mustBeOk(await call({ path: `${path}/git/trees/${sha}?${query}` })).data,
      );
      if (!Array.isArray(data["tree"]) || data["tree"].length === 0) return "";
      for (const one of data["tree"].map(objectIn)) {
        entries.push({ ...one, name: one["path"], id: one["sha"] });
      }
      if (entries.length === data["total_count"]) return treeId(entries);
    }
    return "";
  }
}

function toCommit(data: unknown): ComparedCommit {
  const one = objectIn(data);
  const commit = objectIn(one["commit"]);
  const tree = textIn(objectIn(commit["tree"])["sha"]);
  return {
    sha: textIn(one["sha"]),
    tree: () => Promise.resolve(tree),
    message: textIn(commit["message"]),
    by: nameOf(objectIn(one["author"])["login"], objectIn(commit["author"])["name"]),
  };
}

/** A branch or a commit as part of a path. */
function pathOf(name: string): string {
  return name.split("/").map(encodeURIComponent).join("/");
}
