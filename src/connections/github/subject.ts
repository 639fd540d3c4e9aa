/**
 * What an event of GitHub is about, so that an answer goes there: read from the payload alone.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isRepository } from "../../base/github_names.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** What an event is about. */
export interface GitHubSubject {
  /** `OWNER/NAME`. */
  readonly repository: string;
  /** Number of the issue or pull request; absent where there is none. */
  readonly number?: number;
  /** Whether that number is a pull request's. */
  readonly isPull: boolean;
  /** Commit; absent where there is none, or the payload does not name it. */
  readonly sha?: string;
  /** Other commits of the event. */
  readonly commits: readonly string[];
  /** What can be reacted to, as a path below the repository; absent where nothing can. */
  readonly reactTo?: string;
}

/** SHA-1 or SHA-256. */
export const SHA = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** What an event is about; `undefined` where its payload names no repository. */
export function findSubject(payload: unknown): GitHubSubject | undefined {
  const repository = member(member(payload, "repository"), "full_name");
  if (typeof repository !== "string" || !isRepository(repository)) return undefined;
  const issue = member(payload, "issue");
  const pull = member(payload, "pull_request");
  const comment = member(payload, "comment");
  const number = count(member(pull, "number")) ?? count(member(issue, "number"));
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
    isPull: isJsonObject(pull) || isJsonObject(member(issue, "pull_request")),
    commits: Array.isArray(commits) ? commits.map((one) => member(one, "id")).filter(isSha) : [],
    ...defined({ number, sha, reactTo }),
  };
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

/** A commit; where a branch is deleted, `after` is all zeros. */
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
