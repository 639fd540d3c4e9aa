/**
 * What an event of GitHub shows somebody doing, if svc does such things too. Pure.
 *
 * @module
 */

import { isJsonObject, type JsonObject, objectIn, textIn } from "../../base/json.ts";
import type { Doing } from "../api/forge.ts";

/** What svc does to its own pull requests. */
const PULL_ACTIONS: ReadonlySet<unknown> = new Set([
  "opened",
  "edited",
  "synchronize",
  "labeled",
  "review_requested",
]);

/** What svc may have done itself; `undefined` for what it never does. */
export function findDoing(payload: JsonObject): Doing | undefined {
  const { action, comment, review, issue, pull_request: pull, head_commit: commit } = payload;
  if (isJsonObject(comment)) return { what: "comment", body: textIn(comment["body"]) };
  if (isJsonObject(review)) return { what: "review", body: textIn(review["body"]) };
  if (isJsonObject(issue) && (action === "opened" || action === "edited")) {
    return { what: "issue", body: textIn(issue["body"]) };
  }
  if (isJsonObject(pull)) return review === undefined ? pullDoing(payload, pull) : undefined;
  if (isJsonObject(commit)) {
    return { what: "commit", message: textIn(commit["message"]), tree: textIn(commit["tree_id"]) };
  }
  const branch = payload["ref_type"] === "branch" ? textIn(payload["ref"]) : "";
  return branch === "" ? undefined : { what: "branch", branch };
}

function pullDoing(payload: JsonObject, pull: JsonObject): Doing | undefined {
  const head = objectIn(pull["head"]);
  // The text of a pull request from a fork is its author's.
  const [from, to] = [head["repo"], payload["repository"]].map((one) =>
    textIn(objectIn(one)["full_name"]).toLowerCase()
  );
  if (!PULL_ACTIONS.has(payload["action"]) || from !== to) return undefined;
  return { what: "pull", body: textIn(pull["body"]), branch: textIn(head["ref"]) };
}
