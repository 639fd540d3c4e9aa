/**
 * What an event of GitLab shows somebody doing, if svc does such things too. Pure.
 *
 * @module
 */

import { isSha } from "../../base/forge_names.ts";
import { type JsonObject, objectIn, textIn } from "../../base/json.ts";
import type { Doing } from "../api/forge.ts";

/** What svc does to its own issues and merge requests: a change of labels is an `update` too. */
const ACTIONS: ReadonlySet<unknown> = new Set(["open", "update"]);
/** Ends of a review: with all approvals that are needed, or with one of several. */
const APPROVALS: ReadonlySet<unknown> = new Set(["approved", "approval"]);

/** What svc may have done itself; `undefined` for what it never does. */
export function findDoing(payload: JsonObject): Doing | undefined {
  const attributes = objectIn(payload["object_attributes"]);
  switch (payload["object_kind"]) {
    case "note":
      return { what: "comment", body: textIn(attributes["note"]) };
    case "emoji":
      return { what: "reaction" };
    case "issue":
    case "work_item":
      return ACTIONS.has(attributes["action"])
        ? { what: "issue", body: textIn(attributes["description"]) }
        : undefined;
    case "merge_request":
      return pullDoing(attributes);
    case "push":
      return pushDoing(payload);
    case "pipeline":
      // The first status of a commit from outside makes a pipeline of its own.
      return attributes["source"] === "external" ? { what: "status" } : undefined;
    default:
      return undefined;
  }
}

function pullDoing(pull: JsonObject): Doing | undefined {
  const { action, source_project_id: from, target_project_id: to } = pull;
  if (APPROVALS.has(action)) return { what: "approval" };
  // The text of a merge request from a fork is its author's.
  if (!ACTIONS.has(action) || typeof from !== "number" || from !== to) return undefined;
  const isPush = typeof pull["oldrev"] === "string";
  return {
    what: "pull",
    body: textIn(pull["description"]),
    branch: textIn(pull["source_branch"]),
    ...isPush ? { pushed: textIn(objectIn(pull["last_commit"])["message"]) } : {},
  };
}

function pushDoing({ commits, checkout_sha: newest }: JsonObject): Doing | undefined {
  if (!isSha(newest) || !Array.isArray(commits)) return undefined;
  const commit = commits.map(objectIn).find(({ id }) => id === newest);
  return commit === undefined ? undefined : { what: "commit", message: textIn(commit["message"]) };
}
