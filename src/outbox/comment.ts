/**
 * The kind `github-comment`: a comment on an issue or pull request, which later messages of its key
 * update in place. Its marker finds a comment that may have arrived.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { isJsonObject } from "../base/json.ts";
import { pagesOf } from "../connections/api/pages.ts";
import { mustBeOk } from "../connections/api/forge.ts";
import {
  CLOCKS_DIFFER_MS,
  forgeKind,
  type ForgeSending,
  isByUser,
  ownUserOf,
} from "./forge_access.ts";
import type { FindResult, SendResult } from "./message_kind.ts";
import { asCode, safeMarkdown } from "./safe_markdown.ts";

/** Formats of the text of a comment. */
export const COMMENT_FORMATS = ["markdown", "text"] as const;
/** One of {@linkcode COMMENT_FORMATS}. */
export type CommentFormat = typeof COMMENT_FORMATS[number];

export const commentKinds = forgeKind({
  output: "comment",
  again: "find",
  send,
  find,
});

async function send(sending: ForgeSending): Promise<SendResult> {
  const { path, previousId, message, call } = sending;
  const body = { body: bodyOf(sending) };
  if (previousId !== "") {
    const updated = await call({
      method: "PATCH",
      path: `${path}/issues/comments/${previousId}`,
      body,
    });
    if (updated.ok) return { result: "sent", externalId: previousId };
    if (updated.status !== 404) mustBeOk(updated);
    // The comment was deleted.
  }
  // The user must be known before the event of the comment comes, which can overtake the answer.
  await ownUserOf(sending);
  const made = mustBeOk(
    await call({
      method: "POST",
      path: `${path}/issues/${Number(message.target["number"])}/comments`,
      body,
    }),
  );
  return { result: "sent", externalId: idOf(made.data) };
}

/** The text, made harmless, followed by the marker. */
function bodyOf({ message, repository, host }: ForgeSending): string {
  const { body, project, target, taskId, key } = message;
  const text = String(body["text"]);
  const shown = body["format"] === "text" ? asCode(text) : safeMarkdown(text);
  const place = { project, repository, number: Number(target["number"]) };
  return `${shown}\n\n${host.markers.make(place, { taskId, key })}`;
}

/** Searches for svc's own comment with this key. */
async function find(sending: ForgeSending): Promise<FindResult> {
  const { path, message, uncertainSince = 0, call, host, repository } = sending;
  const user = await ownUserOf(sending);
  const number = Number(message.target["number"]);
  const place = { project: message.project, repository, number };
  const since = encodeURIComponent(rfc3339(Math.max(0, uncertainSince - CLOCKS_DIFFER_MS)));
  let found = "";
  const first = `${path}/issues/${number}/comments?since=${since}&per_page=100`;
  const read = async (path: string) => mustBeOk(await call({ path }));
  for await (const { data } of pagesOf(first, { read, clock: host.clock })) {
    for (const comment of Array.isArray(data) ? data : []) {
      if (!isJsonObject(comment) || !isByUser(comment["user"], user)) continue;
      const marker = host.markers.find(String(comment["body"] ?? ""), place);
      if (marker?.key === message.key) found = idOf(comment);
    }
  }
  return found === "" ? { result: "absent" } : { result: "found", externalId: found };
}

function idOf(comment: unknown): string {
  const id = isJsonObject(comment) ? comment["id"] : undefined;
  return typeof id === "number" ? String(id) : "";
}
