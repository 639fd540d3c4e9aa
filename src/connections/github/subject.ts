/**
 * What a payload of GitHub says: the subject of the event, to which an answer goes; who caused it; and
 * the texts that may be changed after it was sent. Pure.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isSha } from "../../base/forge_names.ts";
import { isRepository } from "../../base/github_names.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Asker, CheckedText, ForgeSubject } from "../api/forge.ts";

/** The subject of a payload; `undefined` if it names no repository. */
export function findSubject(payload: unknown): ForgeSubject | undefined {
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
    forge: "github",
    repository,
    isPull: [pull, member(issue, "pull_request"), checked].some(isJsonObject),
    commits: Array.isArray(commits)
      ? commits.map((commit) => member(commit, "id")).filter(isSha)
      : [],
    ...defined({ number, sha, reactTo }),
  };
}

/**
 * Logins at GitHub, Gitea and Forgejo; in the payload of an event stands what its sender wrote. One that
 * begins as an address does would become a link where it is named.
 */
const LOGIN = /^(?!www\.)[A-Za-z0-9_-](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?(?:\[bot\])?$/i;

/** Who caused an event; `undefined` if it does not say. */
export function findAsker(payload: unknown): Asker | undefined {
  const sender = member(payload, "sender");
  const [login, id, type] = ["login", "id", "type"].map((name) => member(sender, name));
  if (typeof login !== "string" || typeof id !== "number") return undefined;
  const isBot = type !== undefined && type !== "User" || login.endsWith("[bot]");
  return { login: LOGIN.test(login) ? login : "", id: String(id), isBot };
}

/** The text of a comment and the newest commit of a pull request. */
export function checkedTexts(payload: JsonObject): readonly CheckedText[] {
  const [comment, pull, issue] = ["comment", "pull_request", "issue"].map((name) =>
    member(payload, name)
  );
  const texts: CheckedText[] = [];
  const id = count(member(comment, "id"));
  const body = member(comment, "body");
  const place = isJsonObject(issue) ? "issues" : isJsonObject(pull) ? "pulls" : undefined;
  if (id !== undefined && typeof body === "string") {
    const path = place === undefined ? `/comments/${id}` : `/${place}/comments/${id}`;
    texts.push({ what: "The comment", path, field: ["body"], was: body });
  }
  const number = count(member(pull, "number")) ?? count(member(payload, "number"));
  const head = member(member(pull, "head"), "sha");
  if (number !== undefined && typeof head === "string") {
    const path = `/pulls/${number}`;
    texts.push({ what: "The pull request", path, field: ["head", "sha"], was: head });
  }
  return texts;
}

/**
 * Whether the payload says that the sender owns the repository. Its other roles decide nothing: a
 * member or collaborator may have the right to read only.
 */
export function isByOwner(payload: JsonObject): boolean {
  const text = ["comment", "review", "pull_request", "issue"].map((name) => payload[name])
    .find(isJsonObject);
  const author = member(member(text, "user"), "id");
  return member(text, "author_association") === "OWNER" && author !== undefined &&
    author === member(member(payload, "sender"), "id");
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

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function member(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name)
    ? (value as JsonObject)[name]
    : undefined;
}
