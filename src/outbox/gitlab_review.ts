/**
 * The kind `gitlab-review`: a review of a merge request, as an approval, threads on lines of its diff,
 * and a note. GitLab publishes them one by one, so each is looked for before it is made, by its marker,
 * and the note comes last: once it is there, the review is complete. A later message of the same key
 * and commit adds what is new, and renews the note; for another commit it makes a new review.
 *
 * @module
 */

import { sha256Hex } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { isSha } from "../base/forge_names.ts";
import { type JsonObject, objectIn, textIn } from "../base/json.ts";
import { mustBeOk } from "../connections/api/forge.ts";
import { projectPath } from "../connections/gitlab/gitlab_client.ts";
import {
  CLOCKS_DIFFER_MS,
  forgeKind,
  type ForgeSending,
  isByUser,
  placeOf,
  threadOf,
} from "./forge_access.ts";
import type { FindResult, SendResult } from "./message_kind.ts";
import { isInPatch, type ReviewComment, reviewCommentsIn } from "./review_comments.ts";
import { type FilePatch, readPatches, reviewText } from "./review_parts.ts";
import { safeMarkdown } from "./safe_markdown.ts";

/** The kind `gitlab-review`; its id is that of the note, and the commit. */
export const gitlabReviewKinds = forgeKind({
  output: "review",
  forges: ["gitlab"],
  again: "find",
  isReplaced: true,
  send,
  find,
});

/** The commits between which the diff of a merge request is. */
interface DiffRefs {
  readonly base_sha: string;
  readonly start_sha: string;
  readonly head_sha: string;
}

async function send(sending: ForgeSending): Promise<SendResult> {
  const { at, previousId, message: { body }, host } = sending;
  const thread = threadOf(sending);
  const { head, refs } = await readMergeRequest(sending);
  const sha = String(body["sha"] ?? head);
  const comments = reviewCommentsIn(body["comments"]);
  if (comments.length > 0 && sha === head && refs === undefined) {
    const reason = `GitLab is still preparing the diff of merge request !${thread.number}`;
    return { result: "later", reason, mayHaveArrived: false };
  }
  // The user must be known before the events of the review come, which can overtake the answers.
  const own = await sending.ownUser();
  // First, because GitLab may refuse it.
  if (body["event"] === "approve") await approve(sending, sha);
  const left = await putOnLines(comments, sending, { sha, refs, own });
  const marker = host.markers.make(placeOf(sending), markerOf(sending, keyOf(sending, sha)));
  const text = reviewText(sending, { left, marker });
  const [id = "", oldSha] = previousId.split(" ");
  if (id !== "" && oldSha === sha && await at.editComment(thread, id, text)) {
    return { result: "sent", externalId: previousId };
  }
  const newId = await at.addComment(thread, text);
  if (newId !== "") return { result: "sent", externalId: `${newId} ${sha}` };
  const reason = "the answer to the new note names no note";
  return { result: "later", reason, mayHaveArrived: true };
}

function pathOf({ repository, message: { target } }: ForgeSending): string {
  return `${projectPath(repository)}/merge_requests/${Number(target["number"])}`;
}

async function readMergeRequest(
  sending: ForgeSending,
): Promise<{ readonly head: string; readonly refs?: DiffRefs }> {
  const { data } = mustBeOk(await sending.call({ path: pathOf(sending) }));
  const { sha, diff_refs: refs } = objectIn(data);
  if (!isSha(sha)) {
    throw new AppError("refused", "The answer about the merge request names no commit");
  }
  const { base_sha, start_sha, head_sha } = objectIn(refs);
  if (!isSha(base_sha) || !isSha(start_sha) || head_sha !== sha) return { head: sha };
  return { head: sha, refs: { base_sha, start_sha, head_sha: sha } };
}

/** Key of the marker of the note: it names the commit, because a note does not. */
function keyOf({ message: { key } }: ForgeSending, sha: string): string {
  return `${key}/${sha}`;
}

function markerOf({ message: { taskId } }: ForgeSending, key: string) {
  return { taskId, key };
}

/**
 * Approves the commit, and no other.
 *
 * @throws {AppError} `refused` if GitLab does not let svc's user approve it.
 */
async function approve(sending: ForgeSending, sha: string): Promise<void> {
  const { call, message: { target } } = sending;
  const path = pathOf(sending);
  const { data } = mustBeOk(await call({ path: `${path}/approvals` }));
  // GitLab refuses a second approval as it refuses one that is not allowed.
  if (objectIn(data)["user_has_approved"] === true) return;
  const answer = await call({ method: "POST", path: `${path}/approve`, body: { sha } });
  if (!answer.ok && answer.status === 401) {
    const message =
      `GitLab does not let svc's user approve merge request !${target["number"]}: it ` +
      "may be its author, or no eligible approver";
    throw new AppError("refused", message);
  }
  if (!answer.ok && answer.status === 409) {
    throw new AppError(
      "refused",
      `Merge request !${target["number"]} has newer commits than ${sha}`,
    );
  }
  mustBeOk(answer);
}

/** Starts a thread for each comment that is not there, and returns those that stand on no line. */
async function putOnLines(
  comments: readonly ReviewComment[],
  sending: ForgeSending,
  { sha, refs, own }: {
    readonly sha: string;
    readonly refs: DiffRefs | undefined;
    readonly own: string | undefined;
  },
): Promise<readonly ReviewComment[]> {
  if (comments.length === 0) return [];
  const { call, host: { markers } } = sending;
  const place = placeOf(sending);
  const known = new Set<string>();
  for await (const note of sending.at.commentsOf(threadOf(sending), 0)) {
    if (isByUser(note, own)) known.add(markers.find(note.body, place)?.key ?? "");
  }
  const path = pathOf(sending);
  const list = { first: `${path}/diffs?per_page=50`, members: ["new_path", "diff"] } as const;
  const isHead = refs?.head_sha === sha;
  const patches = isHead ? await readPatches(comments, list, sending) : undefined;
  const left: ReviewComment[] = [];
  for (const comment of comments) {
    const key = `${keyOf(sending, sha)}/${nameOf(comment)}`;
    if (known.has(key)) continue;
    const where = positionOf(comment, patches?.get(comment.path));
    if (where === undefined) {
      left.push(comment);
      continue;
    }
    const marker = markers.make(place, markerOf(sending, key));
    const body = `${safeMarkdown(shownText(comment))}\n\n${marker}`;
    const position = { ...refs, position_type: "text", ...where };
    const made = await call({
      method: "POST",
      path: `${path}/discussions`,
      body: { body, position },
    });
    known.add(key);
    // Of a line that GitLab does not take after all.
    if (!made.ok && made.status === 400) left.push(comment);
    else mustBeOk(made);
  }
  return left;
}

/** Names a comment within its review. */
function nameOf({ path, line, side, startLine, text }: ReviewComment): string {
  return sha256Hex(JSON.stringify([path, line, side, startLine ?? line, text])).slice(0, 16);
}

/** A thread stands on one line, the last one. */
function shownText({ line, startLine, text }: ReviewComment): string {
  return startLine === undefined ? text : `Lines ${startLine} to ${line}:\n\n${text}`;
}

/** Where a comment stands, as GitLab takes it; `undefined` if the diff does not show its lines. */
function positionOf(
  comment: ReviewComment,
  patch: FilePatch | undefined,
): JsonObject | undefined {
  const { path, line, side } = comment;
  if (patch === undefined || !isInPatch(comment, patch.lines)) return undefined;
  // A line that is the same on both sides is named by both numbers.
  const { other } = patch.lines[side].get(line) ?? {};
  const [here, there] = side === "LEFT" ? ["old_line", "new_line"] : ["new_line", "old_line"];
  return {
    old_path: textIn(patch.file["old_path"]) || path,
    new_path: path,
    [here as string]: line,
    ...other === undefined ? {} : { [there as string]: other },
  };
}

/** Searches for the note of this key at this commit. */
async function find(sending: ForgeSending): Promise<FindResult> {
  const { at, message: { body }, uncertainSince = 0, host } = sending;
  const own = await sending.ownUser();
  const sha = String(body["sha"] ?? (await readMergeRequest(sending)).head);
  const place = placeOf(sending);
  const since = Math.max(0, uncertainSince - CLOCKS_DIFFER_MS);
  for await (const note of at.commentsOf(threadOf(sending), since)) {
    if (!isByUser(note, own)) continue;
    if (host.markers.find(note.body, place)?.key === keyOf(sending, sha)) {
      return { result: "found", externalId: `${note.id} ${sha}` };
    }
  }
  return { result: "absent" };
}
