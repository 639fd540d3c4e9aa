/**
 * The new comment that an event of GitLab is about. Pure.
 *
 * @module
 */

import { isJsonObject, objectIn } from "../../base/json.ts";
import type { NewComment } from "../api/forge.ts";
import { findAsker, findSubject } from "./subject.ts";

/**
 * The comment that a person has just written on an issue or a merge request; `undefined` for any other
 * event, and for one that fewer people may read than the thread.
 */
export function findNewComment(payload: unknown): NewComment | undefined {
  if (!isJsonObject(payload) || payload["object_kind"] !== "note") return undefined;
  const note = objectIn(payload["object_attributes"]);
  const { note: text, author_id: author, system } = note;
  if (typeof text !== "string" || system === true || !isNew(note)) return undefined;
  const subject = findSubject(payload);
  const sender = findAsker(payload);
  if (subject?.number === undefined || sender === undefined || sender.isBot) return undefined;
  if (String(author) !== sender.id) return undefined;
  const { repository, number, isPull } = subject;
  const { id: userId, login } = sender;
  return { text, userId, login, repository, thread: { number, isPull } };
}

/** Whether a comment is new, and was not edited. Older servers say it by its times alone. */
function isNew({ action, created_at: created, updated_at: updated }: Record<string, unknown>) {
  if (action !== undefined) return action === "create";
  return typeof created === "string" && created !== "" && created === updated;
}
