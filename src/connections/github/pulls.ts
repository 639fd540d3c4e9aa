/**
 * Pull requests at GitHub.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { objectIn, textIn } from "../../base/json.ts";
import { pagesOf } from "../api/pages.ts";
import {
  CallFailed,
  type ForgePulls,
  type FoundPull,
  mustBeOk,
  type RepositoryHost,
} from "../api/forge.ts";
import { nameOf } from "../api/platform_name.ts";
import { pageIn } from "../api/repository_reads.ts";
import { SHA } from "../../base/forge_names.ts";

/** The pull requests of a repository. */
export function gitHubPulls({ repository, call, clock }: RepositoryHost): ForgePulls {
  const path = `/repos/${repository}`;
  const must = async (...[request]: Parameters<typeof call>) => mustBeOk(await call(request));
  const read = (path: string) => must({ path });
  return {
    async readPull(number) {
      return toPull((await read(`${path}/pulls/${number}`)).data, repository);
    },

    async headOfPull(number) {
      const { data } = await read(`${path}/pulls/${number}`);
      const sha = textIn(objectIn(objectIn(data)["head"])["sha"]);
      return SHA.test(sha) ? sha : undefined;
    },

    async isCommitOfPull(sha, number) {
      const first = `${path}/pulls/${number}/commits?per_page=100`;
      for await (const { data } of pagesOf(first, { read, clock })) {
        const commits = Array.isArray(data) ? data : [];
        if (commits.some((one) => objectIn(one)["sha"] === sha)) return true;
      }
      return false;
    },

    async pullsFrom(branch) {
      const head = encodeURIComponent(`${repository.split("/")[0]}:${branch}`);
      const { data } = await read(`${path}/pulls?head=${head}&state=all&per_page=100`);
      return toPulls(data, repository)
        .filter((pull) => pull.branch === branch) // a server may ignore `head`
        .toSorted((one, other) => other.number - one.number);
    },

    async *openPulls(base) {
      const first = `${path}/pulls?state=open&base=${encodeURIComponent(base)}&per_page=100`;
      for await (const { data } of pagesOf(first, { read, clock })) {
        yield toPulls(data, repository);
      }
    },

    async openPull({ title, body, branch, base, draft }) {
      const pull = { title, body, head: branch, base, draft };
      const answer = await call({ method: "POST", path: `${path}/pulls`, body: pull });
      if (answer.ok) {
        const opened = toPull(answer.data, repository);
        if (opened !== undefined) return { result: "opened", pull: opened };
        const message = "The answer about the new pull request does not name its branch";
        throw new AppError("refused", message);
      }
      const { status, message: reason } = answer;
      if (status === 422 && /already exists/i.test(reason)) return { result: "exists", reason };
      if (status === 422 && /no commits between/i.test(reason)) return { result: "nothing new" };
      if (status === 422 && /draft pull requests are not supported/i.test(reason)) {
        return { result: "no drafts" };
      }
      throw new CallFailed(answer);
    },

    async editPull({ number }, { title, body, base }) {
      const changed = {
        ...title === undefined ? {} : { title },
        ...body === undefined ? {} : { body },
        ...base === undefined ? {} : { base },
      };
      await must({ method: "PATCH", path: `${path}/pulls/${number}`, body: changed });
    },

    async askReviewers(number, reviewers) {
      const teams = reviewers.filter((name) => name.includes("/"));
      await must({
        method: "POST",
        path: `${path}/pulls/${number}/requested_reviewers`,
        body: {
          reviewers: reviewers.filter((name) => !name.includes("/")),
          team_reviewers: teams.map((name) => name.slice(name.indexOf("/") + 1)),
        },
      });
    },
  };
}

function toPulls(data: unknown, repository: string): readonly FoundPull[] {
  return (Array.isArray(data) ? data : []).map((one) => toPull(one, repository))
    .filter((pull) => pull !== undefined);
}

/** A pull request of an answer; `undefined` for one from a fork. */
function toPull(data: unknown, repository: string): FoundPull | undefined {
  const pull = objectIn(data);
  const head = objectIn(pull["head"]);
  const from = objectIn(head["repo"])["full_name"];
  if (typeof from !== "string" || from.toLowerCase() !== repository.toLowerCase()) return undefined;
  const { number, state, closed_at: closedAt } = pull;
  if (typeof number !== "number") return undefined;
  const user = objectIn(pull["user"]);
  const closed = typeof closedAt === "string" ? Date.parse(closedAt) : NaN;
  return {
    number,
    isOpen: state === "open",
    ...Number.isNaN(closed) ? {} : { closedAt: closed },
    branch: textIn(head["ref"]),
    base: textIn(objectIn(pull["base"])["ref"]),
    sha: textIn(head["sha"]),
    title: textIn(pull["title"]),
    body: textIn(pull["body"]),
    userId: String(user["id"] ?? ""),
    by: nameOf(user["login"]),
    labels: Array.isArray(pull["labels"])
      ? pull["labels"].map((label) => textIn(objectIn(label)["name"]))
      : [],
    url: pageIn(pull["html_url"]),
  };
}
