/**
 * The new comment that an event of GitHub, Gitea or Forgejo is about. Pure.
 *
 * @module
 */

import { isJsonObject, objectIn } from "../../base/json.ts";
import type { NewComment } from "../api/forge.ts";
import { findAsker, findSubject } from "./subject.ts";

/**
 * The new comment on an issue or a pull; `undefined` for any other event, and for a comment that is by its
 * own event no person's. Those on lines of a change and of reviews are left out: they stand in other threads.
 */
export function findNewComment(payload: unknown): NewComment | undefined {
  if (!isJsonObject(payload) || payload["action"] !== "created") return undefined;
  const { comment, issue } = payload;
  if (!isJsonObject(comment) || !isJsonObject(issue)) return undefined;
  const subject = findSubject(payload);
  const sender = findAsker(payload);
  if (subject?.number === undefined || sender === undefined || sender.isBot) return undefined;
  const { id, body, user, performed_via_github_app: app = null } = comment;
  if (typeof id !== "number" || !Number.isSafeInteger(id) || id <= 0) return undefined;
  // An App can write for a person: then nobody knows whether the person has seen it.
  if (typeof body !== "string" || app !== null) return undefined;
  const author = findAsker({ sender: objectIn(user) });
  if (author === undefined || author.isBot || author.id !== sender.id) return undefined;
  const { repository, number, isPull } = subject;
  return { id: String(id), text: body, repository, thread: { number, isPull } };
}
