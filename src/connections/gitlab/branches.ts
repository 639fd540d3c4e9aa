/**
 * Branches and commits at GitLab.
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
import { EndlessListError, pagesOf } from "../api/pages.ts";
import { nameOf } from "../api/platform_name.ts";
import type { RestData } from "../api/rest.ts";
import { projectPath } from "./gitlab_client.ts";
import { treeId } from "../api/tree_id.ts";

/** A comparison holds the diffs too. */
const COMPARED_BYTES = 64 * 1024 * 1024;
/** Pages of a root tree, of 100 entries each. */
const TREE = { pages: 10, withinMs: 60_000 };

/** The branches of a project. */
export function gitLabBranches({ repository, call, clock }: RepositoryHost): ForgeBranches {
  const path = `${projectPath(repository)}/repository`;
  return {
    async headOf(branch) {
      const answer = await call({ path: `${path}/branches/${encodeURIComponent(branch)}` });
      if (!answer.ok && answer.status === 404) return undefined;
      const { name, commit } = objectIn(mustBeOk(answer).data);
      const sha = textIn(objectIn(commit)["id"]);
      return name === branch && sha !== "" ? sha : undefined;
    },

    async compare(from, to) {
      const ahead = await commitsOf(from, to);
      const behind = ahead === undefined ? undefined : await commitsOf(to, from);
      if (ahead === undefined || behind === undefined) {
        return { isKnown: false, ahead: 0, behind: 0, commits: [] };
      }
      const commits = ahead.map((data): ComparedCommit => {
        const { id, message, author_name: author } = objectIn(data);
        const sha = textIn(id);
        return { sha, message: textIn(message), by: nameOf(author), tree: () => treeOf(sha) };
      });
      return { isKnown: true, ahead: ahead.length, behind: behind.length, commits };
    },
  };

  /** The commits that `to` has and `from` has not; `undefined` if one of them is not known. */
  async function commitsOf(from: string, to: string): Promise<readonly unknown[] | undefined> {
    const query = new URLSearchParams({ from, to });
    const answer = await call({ path: `${path}/compare?${query}`, maxBytes: COMPARED_BYTES });
    if (!answer.ok && answer.status === 404) return undefined;
    const { commits } = objectIn(mustBeOk(answer).data);
    return Array.isArray(commits) ? commits : undefined;
  }

  /** GitLab names no trees of commits, so the root is listed, and its id computed. */
  async function treeOf(sha: string): Promise<string> {
    const entries: unknown[] = [];
    const query = new URLSearchParams({ ref: sha, per_page: "100" });
    const read = async (path: string): Promise<RestData> => mustBeOk(await call({ path }));
    try {
      for await (const { data } of pagesOf(`${path}/tree?${query}`, { read, clock, most: TREE })) {
        if (!Array.isArray(data)) return "";
        entries.push(...data);
      }
    } catch (error) {
      if (error instanceof EndlessListError) return "";
      throw error;
    }
    return treeId(entries);
  }
}
