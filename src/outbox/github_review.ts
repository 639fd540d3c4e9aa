/**
 * The kind `github-review`: a review of a pull request, with comments on lines. A later message of its
 * key renews its text while the commit is the same, and makes a new one for another commit. Its marker
 * finds a review that may have arrived.
 *
 * @module
 */

import { isJsonObject, type JsonObject, objectIn } from "../base/json.ts";
import { SHA } from "../base/forge_names.ts";
import { pagesOf } from "../connections/api/pages.ts";
import { AppError } from "../base/errors.ts";
import { mustBeOk } from "../connections/api/forge.ts";
import { forgeKind, type ForgeSending, isByUser, placeOf } from "./forge_access.ts";
import type { FindResult, SendResult } from "./message_kind.ts";
import { isInPatch, type ReviewComment, reviewCommentsIn } from "./review_comments.ts";
import { readPatches, reviewText } from "./review_parts.ts";
import { safeMarkdown } from "./safe_markdown.ts";

/** The kind `github-review`; its id is that of the review, the commit and the event. */
export const githubReviewKinds = forgeKind({
  output: "review",
  forges: ["github"],
  again: "find",
  isReplaced: true,
  send,
  find,
});

/** By the event of a review, its state once it is there. */
const STATES: Readonly<Record<string, string>> = {
  comment: "COMMENTED",
  request_changes: "CHANGES_REQUESTED",
  approve: "APPROVED",
};

async function send(sending: ForgeSending): Promise<SendResult> {
  const { previousId, message: { body }, call } = sending;
  const pull = pullOf(sending);
  const event = String(body["event"]);
  const comments = reviewCommentsIn(body["comments"]);
  const head = await headOf(sending);
  const sha = String(body["sha"] ?? head);
  const [id = "", oldSha, oldEvent] = previousId.split(" ");
  if (id !== "" && oldSha === sha && oldEvent === event) {
    const review = `${pull}/reviews/${id}`;
    const known = await textsAt(review, sending);
    const left = comments.filter((comment) => !known.has(nameOf(comment.path, comment.text)));
    const text = { body: reviewText(sending, { left, marker: markerOf(sending) }) };
    const renewed = await call({ method: "PUT", path: review, body: text });
    if (renewed.ok) return { result: "sent", externalId: previousId };
    if (renewed.status !== 404) mustBeOk(renewed);
  }
  // The user must be known before the event of the review comes, which can overtake the answer.
  await sending.ownUser();
  const placed = sha === head ? await placedIn(comments, sending) : new Set<ReviewComment>();
  const post = (placed: ReadonlySet<ReviewComment>) =>
    call({
      method: "POST",
      path: `${pull}/reviews`,
      body: {
        commit_id: sha,
        event: event.toUpperCase(),
        body: reviewText(sending, {
          left: comments.filter((comment) => !placed.has(comment)),
          marker: markerOf(sending),
        }),
        comments: [...placed].map((comment) => shownAt(comment, sending)),
      },
    });
  let made = await post(placed);
  // GitHub refuses a whole review because of one line, and does not say which.
  if (!made.ok && made.status === 422 && placed.size > 0) made = await post(new Set());
  const { data } = mustBeOk(made);
  const newId = isJsonObject(data) ? data["id"] : undefined;
  if (typeof newId === "number") {
    return { result: "sent", externalId: `${newId} ${sha} ${event}` };
  }
  const reason = "the answer to the new review names no review";
  return { result: "later", reason, mayHaveArrived: true };
}

function pullOf({ path, message: { target } }: ForgeSending): string {
  return `${path}/pulls/${Number(target["number"])}`;
}

async function headOf(sending: ForgeSending): Promise<string> {
  const { data } = mustBeOk(await sending.call({ path: pullOf(sending) }));
  const head = isJsonObject(data) && isJsonObject(data["head"]) ? data["head"]["sha"] : undefined;
  if (typeof head === "string" && SHA.test(head)) return head;
  throw new AppError("refused", "The answer about the pull request names no commit");
}

/** The marker, also of each comment on a line: the event of any of them starts nothing. */
function markerOf(sending: ForgeSending): string {
  const { message: { taskId, key }, host } = sending;
  return host.markers.make(placeOf(sending), { taskId, key });
}

/** A comment on a line, as GitHub takes it. */
function shownAt(
  { path, line, side, startLine, text }: ReviewComment,
  sending: ForgeSending,
): JsonObject {
  return {
    path,
    line,
    side,
    ...startLine === undefined ? {} : { start_line: startLine, start_side: side },
    body: `${safeMarkdown(text)}\n\n${markerOf(sending)}`,
  };
}

/** The comments whose lines are in the diff of the pull request as it is now. */
async function placedIn(
  comments: readonly ReviewComment[],
  sending: ForgeSending,
): Promise<ReadonlySet<ReviewComment>> {
  const first = `${pullOf(sending)}/files?per_page=50`;
  const patches = await readPatches(comments, { first, members: ["filename", "patch"] }, sending);
  return new Set(
    comments.filter((comment) => isInPatch(comment, patches.get(comment.path)?.lines)),
  );
}

/** The comments that a review has already, by path and text. */
async function textsAt(review: string, sending: ForgeSending): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  const read = async (path: string) => mustBeOk(await sending.call({ path }));
  const first = `${review}/comments?per_page=100`;
  for await (const { data } of pagesOf(first, { read, clock: sending.host.clock })) {
    for (const comment of Array.isArray(data) ? data : []) {
      if (!isJsonObject(comment)) continue;
      const [text = ""] = String(comment["body"]).split("\n\n<!-- svc ");
      known.add(JSON.stringify([comment["path"], text]));
    }
  }
  return known;
}

function nameOf(path: string, text: string): string {
  return JSON.stringify([path, safeMarkdown(text)]);
}

/** Searches for svc's own review with this key, the newest of them. */
async function find(sending: ForgeSending): Promise<FindResult> {
  const { message: { key }, host } = sending;
  const user = await sending.ownUser();
  const place = placeOf(sending);
  let found = "";
  const read = async (path: string) => mustBeOk(await sending.call({ path }));
  const first = `${pullOf(sending)}/reviews?per_page=100`;
  for await (const { data } of pagesOf(first, { read, clock: host.clock })) {
    for (const review of Array.isArray(data) ? data : []) {
      if (!isJsonObject(review)) continue;
      const userId = String(objectIn(review["user"])["id"] ?? "");
      if (!isByUser({ userId }, user)) continue;
      const marker = host.markers.find(String(review["body"] ?? ""), place);
      if (marker?.key === key) found = idOf(review) ?? found;
    }
  }
  return found === "" ? { result: "absent" } : { result: "found", externalId: found };
}

function idOf({ id, commit_id: sha, state }: JsonObject): string | undefined {
  const event = Object.keys(STATES).find((event) => STATES[event] === state);
  return typeof id === "number" && typeof sha === "string" && event !== undefined
    ? `${id} ${sha} ${event}`
    : undefined;
}
