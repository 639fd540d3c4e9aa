/**
 * The answer to an approval that a comment gives in its first line: `/approve 7f3a91c2` or
 * `/reject 7f3a91c2 the branch is wrong`; the slash may be left out. Pure.
 *
 * ```ts
 * import { findAnswer } from "./answer_in_comment.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * deepEqual(findAnswer("/approve 7f3a91c2\nThanks!"), {
 *   answer: "approved",
 *   code: "7f3a91c2",
 *   comment: "",
 * });
 * ```
 *
 * @module
 */

import type { ForgeName } from "../base/forge_names.ts";
import type { NewComment } from "./api/forge.ts";
import { findNewComment } from "./forges.ts";

/** A new comment that gives an answer, and its forge. */
export type AnswerComment = NewComment & {
  readonly forge: ForgeName;
  readonly given: CommentedAnswer;
};

/** An answer in a comment. */
export interface CommentedAnswer {
  readonly answer: "approved" | "rejected";
  /** The beginning of the digest of the question, in lower case. */
  readonly code: string;
  /** What stands behind the code in its line; may be empty. */
  readonly comment: string;
}

/**
 * The digest is SHA-256, so no code is longer. What is copied from svc's own comment may have an invisible
 * character before it, which keeps a forge from taking it for a command of its own.
 */
const ANSWER =
  /^\u200b?\/?(approve|reject)[ \t]+([0-9a-f]{8,64})(?:[ \t]+([^\r\n]*))?[ \t]*(?:\r?\n|$)/i;

/** The answer that a comment gives; `undefined` for any other comment, also one without a code. */
export function findAnswer(text: string): CommentedAnswer | undefined {
  const [, word, code = "", comment = ""] = ANSWER.exec(text) ?? [];
  if (word === undefined) return undefined;
  const answer = word.toLowerCase() === "approve" ? "approved" : "rejected";
  return { answer, code: code.toLowerCase(), comment: comment.trim() };
}

/**
 * The new comment of an event, if it gives an answer to an approval by what the event tells. It says nothing
 * to the task of its conversation.
 */
export function findAnswerComment(payload: unknown): AnswerComment | undefined {
  const comment = findNewComment(payload);
  const given = comment && findAnswer(comment.text);
  return comment && given && { ...comment, given };
}
