/**
 * The subject of an event of GitHub, to which an answer goes. Read from the payload alone.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isRepository } from "../../base/github_names.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** The repository, issue, pull request or commit of an event. */
export interface GitHubSubject {
  /** The repository, as `OWNER/NAME`. */
  readonly repository: string;
  /** Number of the issue or pull request, if there is one. */
  readonly number?: number;
  /** Whether the number belongs to a pull request. */
  readonly isPull: boolean;
  /** Commit, if there is one and the payload names it. */
  readonly sha?: string;
  /** Other commits of the event. */
  readonly commits: readonly string[];
  /** Path, below the repository, of the object that can get a reaction; absent if none can. */
  readonly reactTo?: string;
}

/** The id of a commit, by SHA-1 or SHA-256. */
export const SHA = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** The subject of a payload; `undefined` if it names no repository. */
export function findSubject(payload: unknown): GitHubSubject | undefined {
  const repository = member(member(payload, "repository"), "full_name");
  if (typeof repository !== "string" || !isRepository(repository)) return undefined;
  const issue = member(payload, "issue");
  const pull = member(payload, "pull_request");
  const comment = member(payload, "comment");
  const checked = checkedPull(payload);
  const number = [pull, issue, checked].map((one) => count(member(one, "number")))
    .find((one) => one !== undefined);
  const sha = [
    member(member(pull, "head"), "sha"),
    member(comment, "commit_id"),
    member(payload, "after"),
    member(payload, "sha"),
    member(member(payload, "check_run"), "head_sha"),
    member(member(payload, "check_suite"), "head_sha"),
    member(member(payload, "workflow_run"), "head_sha"),
  ].find(isSha);
  const reactTo = reactionPath({ issue, pull, comment, payload }, number);
  const commits = member(payload, "commits");
  return {
    repository,
    isPull: [pull, member(issue, "pull_request"), checked].some(isJsonObject),
    commits: Array.isArray(commits)
      ? commits.map((commit) => member(commit, "id")).filter(isSha)
      : [],
    ...defined({ number, sha, reactTo }),
  };
}

/** What runs on a commit; each names the open pull requests of that commit. */
const CHECKS = ["check_run", "check_suite", "workflow_run"];

/** The pull request of this repository whose commit was checked; `undefined` if it is one of several. */
function checkedPull(payload: unknown): unknown {
  const repository = member(member(payload, "repository"), "id");
  const pulls = CHECKS.map((name) => member(member(payload, name), "pull_requests"))
    .find(Array.isArray)?.filter((pull) =>
      repository !== undefined &&
      member(member(member(pull, "base"), "repo"), "id") === repository
    );
  return pulls?.length === 1 ? pulls[0] : undefined;
}

function reactionPath(
  { issue, pull, comment, payload }: Readonly<Record<string, unknown>>,
  number: number | undefined,
): string | undefined {
  const id = count(member(comment, "id"));
  if (id !== undefined) {
    if (isJsonObject(issue)) return `issues/comments/${id}`;
    return isJsonObject(pull) ? `pulls/comments/${id}` : `comments/${id}`;
  }
  if (number !== undefined) return `issues/${number}`;
  const release = count(member(member(payload, "release"), "id"));
  return release === undefined ? undefined : `releases/${release}`;
}

/** Whether a value is the id of a commit. `after` is all zeros if a branch was deleted. */
function isSha(value: unknown): value is string {
  return typeof value === "string" && SHA.test(value) && !/^0+$/.test(value);
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function member(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name)
    ? (value as JsonObject)[name]
    : undefined;
}
