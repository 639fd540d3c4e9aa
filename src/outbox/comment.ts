/**
 * The kind `github-comment`, and its like at other forges: a comment on an issue or pull, which later
 * messages of its key update in place. Its marker finds a comment that may have arrived.
 *
 * @module
 */

import {
  CLOCKS_DIFFER_MS,
  forgeKind,
  type ForgeSending,
  isByUser,
  placeOf,
  threadOf,
} from "./forge_access.ts";
import type { FindResult, SendResult } from "./message_kind.ts";
import { asCode, safeMarkdown } from "./safe_markdown.ts";

export const commentKinds = forgeKind({
  output: "comment",
  again: "find",
  send,
  find,
});

async function send(sending: ForgeSending): Promise<SendResult> {
  const { at, previousId } = sending;
  const thread = threadOf(sending);
  const body = bodyOf(sending);
  // False: the comment was deleted.
  if (previousId !== "" && await at.editComment(thread, previousId, body)) {
    return { result: "sent", externalId: previousId };
  }
  // The user must be known before the event of the comment comes, which can overtake the answer.
  await sending.ownUser();
  return { result: "sent", externalId: await at.addComment(thread, body) };
}

/** The text, made harmless, followed by the marker. */
function bodyOf(sending: ForgeSending): string {
  const { message: { body, taskId, key }, host } = sending;
  const text = String(body["text"]);
  const shown = body["format"] === "text" ? asCode(text) : safeMarkdown(text);
  return `${shown}\n\n${host.markers.make(placeOf(sending), { taskId, key })}`;
}

/** Searches for svc's own comment with this key, the newest of them. */
async function find(sending: ForgeSending): Promise<FindResult> {
  const { at, message: { key }, uncertainSince = 0, host } = sending;
  const user = await sending.ownUser();
  const place = placeOf(sending);
  const since = Math.max(0, uncertainSince - CLOCKS_DIFFER_MS);
  let found = "";
  for await (const comment of at.commentsOf(threadOf(sending), since)) {
    if (!isByUser(comment, user)) continue;
    const isNewer = found === "" || Number(comment.id) > Number(found);
    if (isNewer && host.markers.find(comment.body, place)?.key === key) found = comment.id;
  }
  return found === "" ? { result: "absent" } : { result: "found", externalId: found };
}
