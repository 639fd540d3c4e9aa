/**
 * The new comment that an event of GitLab is about. Pure.
 *
 * @module
 */

import { isJsonObject, type JsonObject, objectIn } from "../../base/json.ts";
import type { NewComment } from "../api/forge.ts";
import { isAsWritten } from "../api/repository_reads.ts";
import { idIn } from "./gitlab_client.ts";
import { findAsker, findSubject } from "./subject.ts";

/**
 * The new comment on an issue or a merge request; `undefined` for any other event, and for a comment that
 * is by its own event no person's, or that fewer people may read than the thread.
 */
export function findNewComment(payload: unknown): NewComment | undefined {
  if (!isJsonObject(payload) || payload["object_kind"] !== "note") return undefined;
  const note = objectIn(payload["object_attributes"]);
  const { note: text, author_id: author, system } = note;
  const id = idIn(note, "id");
  if (id === undefined || typeof text !== "string" || system === true) return undefined;
  if (!isNew(note)) return undefined;
  const subject = findSubject(payload);
  const sender = findAsker(payload);
  if (subject?.number === undefined || sender === undefined || sender.isBot) return undefined;
  if (String(author) !== sender.id) return undefined;
  const { repository, number, isPull } = subject;
  return { id: String(id), text, repository, thread: { number, isPull } };
}

/** Whether a comment is new, and was not edited. Older servers say it by its times alone. */
function isNew(note: JsonObject): boolean {
  const { action } = note;
  return action === undefined ? isAsWritten(note) : action === "create";
}
