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

/** The branches of a repository. */
export function gitHubBranches({ repository, call }: RepositoryHost): ForgeBranches {
  const path = `/repos/${repository}`;
  return {
    async headOf(branch) {
      const answer = await call({ path: `${path}/git/ref/heads/${pathOf(branch)}` });
      if (!answer.ok && answer.status === 404) return undefined;
      const { object, ref } = objectIn(mustBeOk(answer).data);
      const sha = textIn(objectIn(object)["sha"]);
      // Gitea lists what begins with the name.
      return ref === `refs/heads/${branch}` && sha !== "" ? sha : undefined;
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
        commits: Array.isArray(data["commits"]) ? data["commits"].map(toCommit) : [],
      };
    },
  };
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
