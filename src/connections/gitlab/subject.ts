/**
 * What a payload of GitLab says: the subject of the event, to which an answer goes; who caused it; and
 * the texts that may be changed after it was sent. Pure.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isSha } from "../../base/forge_names.ts";
import { isProject } from "../../base/gitlab_names.ts";
import { isJsonObject, type JsonObject, objectIn, textIn } from "../../base/json.ts";
import type { Asker, CheckedText, ForgeSubject } from "../api/forge.ts";

/** What people write on. */
interface Place {
  /** Path below the project; absent if it cannot be reacted to. */
  readonly path: string;
  /** Absent for a snippet or a commit, which nobody counts within a project. */
  readonly number?: number;
  readonly isPull: boolean;
}

/** The subject of a payload; `undefined` if it is none of GitLab, or names no project. */
export function findSubject(payload: unknown): ForgeSubject | undefined {
  const event = findEvent(payload);
  if (event === undefined) return undefined;
  const repository = textIn(objectIn(event["project"])["path_with_namespace"]);
  if (!isProject(repository)) return undefined;
  const { commits } = event;
  const shown = {
    forge: "gitlab",
    repository,
    commits: Array.isArray(commits) ? commits.map((one) => objectIn(one)["id"]).filter(isSha) : [],
  } as const;
  const place = placeOf(event);
  const reactTo = reactionPath(event, place);
  // Whoever reads the thread or the commit would read the answer, and only members read the note.
  if (isInternal(event)) return { ...shown, isPull: false, ...defined({ reactTo }) };
  const { number, isPull = false } = place ?? {};
  return { ...shown, isPull, ...defined({ number, sha: shaOf(event), reactTo }) };
}

/**
 * Usernames at GitLab; in the payload of an event stands what its sender wrote. One that begins as an
 * address does would become a link where it is named.
 */
const LOGIN = /^(?!www\.)[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,253}[A-Za-z0-9_-])?$/i;
/** The users of project and group access tokens, and of service accounts that nobody has renamed. */
const BOT = /^(?:(?:project|group)_[0-9]+_bot|service_account_)/i;

/** Who caused an event; `undefined` if it does not say. */
export function findAsker(payload: unknown): Asker | undefined {
  const event = findEvent(payload);
  if (event === undefined) return undefined;
  const user = objectIn(event["user"]);
  // Pushes name their user beside all else.
  const id = count(user["id"]) ?? count(event["user_id"]);
  if (id === undefined) return undefined;
  const login = textIn(user["username"]) || textIn(event["user_username"]);
  return { login: LOGIN.test(login) ? login : "", id: String(id), isBot: BOT.test(login) };
}

/** Payloads of GitLab name no roles. */
export function isByOwner(): boolean {
  return false;
}

/** The text of a comment and the newest commit of a merge request. */
export function checkedTexts(payload: JsonObject): readonly CheckedText[] {
  const event = findEvent(payload);
  if (event === undefined) return [];
  const texts: CheckedText[] = [];
  const place = placeOf(event);
  // A reaction of a member may be to the comment of a stranger.
  const { note: was, id, discussion_id: discussion } = noteOf(event) ?? {};
  if (typeof was === "string") {
    // What has no id is not found, so it counts as deleted.
    const of = place?.path ?? `repository/commits/${shaOf(event)}/discussions/${hex(discussion)}`;
    const path = `/${of}/notes/${count(id) ?? 0}`;
    texts.push({ what: "The comment", path, field: ["body"], was });
  }
  const head = textIn(objectIn(pullOf(event)?.["last_commit"])["id"]);
  if (place?.isPull === true && head !== "") {
    texts.push({ what: "The merge request", path: `/${place.path}`, field: ["sha"], was: head });
  }
  return texts;
}

/** A payload of GitLab. */
function findEvent(payload: unknown): JsonObject | undefined {
  return isJsonObject(payload) && typeof payload["object_kind"] === "string" ? payload : undefined;
}

/** The merge request that an event names. */
function pullOf(event: JsonObject): JsonObject | undefined {
  const pull =
    event[event["object_kind"] === "merge_request" ? "object_attributes" : "merge_request"];
  return isJsonObject(pull) ? pull : undefined;
}

/** The branch of a job that runs for a merge request. */
const PULL_REF = /^refs\/merge-requests\/([1-9][0-9]{0,14})\/(?:head|merge|train)$/;

/** What an event is about; `undefined` for one that is about the project or a commit. */
function placeOf(event: JsonObject): Place | undefined {
  switch (event["object_kind"]) {
    case "merge_request":
      return pullAt(pullOf(event)?.["iid"]);
    case "issue":
    case "work_item":
      return issueAt(event["object_attributes"]);
    case "note":
    case "emoji":
      return pullAt(pullOf(event)?.["iid"]) ?? issueAt(event["issue"] ?? event["work_item"]) ??
        snippetAt(event["snippet"]);
    case "pipeline": {
      // The pipeline of a fork names the merge request of another project.
      const { iid, target_project_id: target } = pullOf(event) ?? {};
      const isHere = target !== undefined && target === objectIn(event["project"])["id"];
      return isHere ? pullAt(iid) : undefined;
    }
    case "build":
      return event["tag"] === true
        ? undefined
        : pullAt(Number(PULL_REF.exec(textIn(event["ref"]))?.[1]));
    default:
      return undefined;
  }
}

function pullAt(iid: unknown): Place | undefined {
  const number = count(iid);
  return number === undefined
    ? undefined
    : { path: `merge_requests/${number}`, number, isPull: true };
}

/** An issue, or another item of work that counts among the issues of a project. */
function issueAt(issue: unknown): Place | undefined {
  const { iid, type } = objectIn(issue);
  const number = type === "Epic" ? undefined : count(iid);
  return number === undefined ? undefined : { path: `issues/${number}`, number, isPull: false };
}

function snippetAt(snippet: unknown): Place | undefined {
  const id = count(objectIn(snippet)["id"]);
  return id === undefined ? undefined : { path: `snippets/${id}`, isPull: false };
}

/** A comment is reacted to itself; that on a commit cannot be. */
function reactionPath(event: JsonObject, place: Place | undefined): string | undefined {
  const note = noteOf(event);
  if (place === undefined || note === undefined) return place?.path;
  const id = count(note["id"]);
  return id === undefined ? undefined : `${place.path}/notes/${id}`;
}

/** The comment of an event. */
function noteOf(event: JsonObject): JsonObject | undefined {
  if (event["object_kind"] === "note") return objectIn(event["object_attributes"]);
  const { note } = event;
  return event["object_kind"] === "emoji" && isJsonObject(note) ? note : undefined;
}

/**
 * Whether an event is about a comment that fewer people may read than the thread on which it stands.
 * Older servers do not say that of a comment; they call those on a confidential issue the same.
 */
function isInternal(event: JsonObject): boolean {
  const { internal } = noteOf(event) ?? {};
  if (typeof internal === "boolean") return internal;
  const isConfidential = event["event_type"] === "confidential_note";
  return isConfidential && objectIn(event["issue"])["confidential"] !== true;
}

function shaOf(event: JsonObject): string | undefined {
  const attributes = objectIn(event["object_attributes"]);
  return [
    objectIn(pullOf(event)?.["last_commit"])["id"],
    attributes["commit_id"],
    attributes["sha"],
    event["sha"],
    // The commit of a tag, where `after` is the tag itself; null if the branch was deleted.
    event["checkout_sha"],
    objectIn(event["commit"])["id"],
  ].find(isSha);
}

/** The id of a discussion, as a path can hold it. */
function hex(value: unknown): string {
  return typeof value === "string" && /^[0-9a-f]{1,64}$/.test(value) ? value : "0";
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
