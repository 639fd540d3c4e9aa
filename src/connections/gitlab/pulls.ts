/**
 * Merge requests at GitLab. A draft is one whose title begins with `Draft:`.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { isSha } from "../../base/forge_names.ts";
import { objectIn, textIn } from "../../base/json.ts";
import {
  CallFailed,
  type ForgePulls,
  type FoundPull,
  mustBeOk,
  type RepositoryHost,
} from "../api/forge.ts";
import { pagesOf } from "../api/pages.ts";
import { nameOf } from "../api/platform_name.ts";
import { pageIn } from "../api/repository_reads.ts";
import type { RestCall } from "../api/rest.ts";
import { gitLabBranches } from "./branches.ts";
import { idIn, projectPath, TEXTS } from "./gitlab_client.ts";

/** The beginning of a title that makes a draft. */
const DRAFT = /^(?:\s*(?:\[draft\]|\(draft\)|draft:))+\s*/i;
/** Form of a username. */
const USERNAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$/;

/** The merge requests of a project. */
export function gitLabPulls(host: RepositoryHost): ForgePulls {
  const { repository, call, clock } = host;
  const project = projectPath(repository);
  const path = `${project}/merge_requests`;
  const must = async (request: RestCall) => mustBeOk(await call(request));
  const one = async (number: number) => (await must({ path: `${path}/${number}` })).data;
  const pages = (query: Readonly<Record<string, string>>) => {
    const all = new URLSearchParams({
      ...query,
      order_by: "created_at",
      sort: "desc",
      per_page: String(TEXTS.items),
    });
    const read = (path: string) => must({ path, maxBytes: TEXTS.maxBytes });
    return pagesOf(`${path}?${all}`, { read, clock });
  };
  const { headOf } = gitLabBranches(host);
  /** Newest commit of a target; GitLab would take one that is not there. */
  const targetOf = async (base: string) => {
    const head = await headOf(base);
    if (head !== undefined) return head;
    throw new AppError("refused", `${repository} has no branch ${base}: name one that is there`);
  };
  return {
    async readPull(number) {
      return toPull(await one(number));
    },

    async headOfPull(number) {
      return shaIn(await one(number), "sha");
    },

    async isCommitOfPull(sha, number) {
      const read = (path: string) => must({ path });
      const first = `${path}/${number}/commits?per_page=100`;
      for await (const { data } of pagesOf(first, { read, clock })) {
        if (Array.isArray(data) && data.some((one) => shaIn(one, "id") === sha)) return true;
      }
      return false;
    },

    async pullsFrom(branch) {
      const found: FoundPull[] = [];
      // Forks may have any number of merge requests from branches of this name: all pages.
      for await (const { data } of pages({ state: "all", source_branch: branch })) {
        found.push(...toPulls(data).filter((pull) => pull.branch === branch));
      }
      return found.toSorted((one, other) => other.number - one.number);
    },

    async *openPulls(base) {
      for await (const { data } of pages({ state: "opened", target_branch: base })) {
        yield toPulls(data);
      }
    },

    async openPull({ title, body, branch, base, draft }) {
      const onto = await targetOf(base);
      const head = await headOf(branch);
      if (head === undefined) {
        throw new AppError("refused", `${repository} has no branch ${branch} any more`);
      }
      // GitLab would open one without any commit.
      const refs = new URLSearchParams([["refs[]", onto], ["refs[]", head]]);
      const shared = await call({ path: `${project}/repository/merge_base?${refs}` });
      if (!shared.ok && shared.status !== 404) throw new CallFailed(shared);
      if (shared.ok && shaIn(shared.data, "id") === head) return { result: "nothing new" };
      const pull = {
        source_branch: branch,
        target_branch: base,
        title: titleOf(title, draft),
        description: body,
      };
      const answer = await call({ method: "POST", path, body: pull });
      if (!answer.ok) {
        if (answer.status === 409) return { result: "exists", reason: answer.message };
        throw new CallFailed(answer);
      }
      const opened = toPull(answer.data);
      if (opened !== undefined) return { result: "opened", pull: opened };
      const message = "The answer about the new merge request does not name its branch";
      throw new AppError("refused", message);
    },

    async editPull({ number }, { title, body, base }) {
      if (base !== undefined) await targetOf(base);
      const isDraft = title !== undefined &&
        DRAFT.test(textIn(objectIn(await one(number))["title"]));
      const changed = {
        ...title === undefined ? {} : { title: titleOf(title, isDraft) },
        ...body === undefined ? {} : { description: body },
        ...base === undefined ? {} : { target_branch: base },
      };
      await must({ method: "PUT", path: `${path}/${number}`, body: changed });
    },

    async askReviewers(number, reviewers) {
      const group = reviewers.find((name) => name.includes("/"));
      if (group !== undefined) {
        const message = `${group} cannot review: GitLab asks people only, by their usernames`;
        throw new AppError("refused", message);
      }
      // The list replaces who was asked before.
      const { reviewers: before } = objectIn(await one(number));
      const ids = new Set<number>();
      for (const one of Array.isArray(before) ? before : []) {
        const id = idIn(one, "id");
        if (id !== undefined) ids.add(id);
      }
      for (const name of reviewers) ids.add(await idOfUser(name));
      const body = { reviewer_ids: [...ids] };
      await must({ method: "PUT", path: `${path}/${number}`, body });
    },
  };

  async function idOfUser(name: string): Promise<number> {
    if (USERNAME.test(name)) {
      const { data } = await must({ path: `/users?username=${encodeURIComponent(name)}` });
      const user = (Array.isArray(data) ? data : []).find((one) =>
        textIn(objectIn(one)["username"]).toLowerCase() === name.toLowerCase()
      );
      const id = idIn(user, "id");
      if (id !== undefined) return id;
    }
    throw new AppError("refused", `GitLab has no user ${name}, who would be asked for a review`);
  }
}

/** A title that makes a draft, or none. */
function titleOf(title: string, isDraft: boolean): string {
  const bare = title.replace(DRAFT, "");
  return isDraft ? `Draft: ${bare}` : bare === "" ? title : bare;
}

function toPulls(data: unknown): readonly FoundPull[] {
  return (Array.isArray(data) ? data : []).map(toPull).filter((pull) => pull !== undefined);
}

/** A merge request of an answer; `undefined` for one from a fork. */
function toPull(data: unknown): FoundPull | undefined {
  const pull = objectIn(data);
  const number = idIn(pull, "iid");
  const from = idIn(pull, "source_project_id");
  if (number === undefined || from === undefined) return undefined;
  if (from !== idIn(pull, "target_project_id")) return undefined;
  const author = objectIn(pull["author"]);
  const closed = Date.parse(textIn(pull["merged_at"]) || textIn(pull["closed_at"]));
  // `locked`: it is about to be merged.
  const isOpen = pull["state"] === "opened" || pull["state"] === "locked";
  return {
    number,
    isOpen,
    ...isOpen || Number.isNaN(closed) ? {} : { closedAt: closed },
    branch: textIn(pull["source_branch"]),
    base: textIn(pull["target_branch"]),
    sha: shaIn(pull, "sha") ?? "",
    title: textIn(pull["title"]).replace(DRAFT, ""),
    body: textIn(pull["description"]),
    userId: String(idIn(author, "id") ?? ""),
    by: nameOf(author["username"]),
    labels: Array.isArray(pull["labels"]) ? pull["labels"].map(textIn) : [],
    url: pageIn(pull["web_url"]),
  };
}

/** The id of a commit. */
function shaIn(data: unknown, name: "id" | "sha"): string | undefined {
  const sha = objectIn(data)[name];
  return isSha(sha) ? sha : undefined;
}
