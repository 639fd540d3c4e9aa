/**
 * REGISTRY of the kinds of messages: a kind is a file of this folder and a line here.
 *
 * @module
 */

import type { MessageKind } from "./message_kind.ts";
import { email } from "./email.ts";
import { githubCheck } from "./github_check.ts";
import { githubComment } from "./github_comment.ts";
import { githubIssue } from "./github_issue.ts";
import { githubLabel } from "./github_label.ts";
import { githubPull } from "./github_pull.ts";
import { githubPush } from "./github_push.ts";
import { githubReaction } from "./github_reaction.ts";
import { githubReview } from "./github_review.ts";
import { githubStatus } from "./github_status.ts";
import { linePush } from "./line_push.ts";
import { slackPost } from "./slack_post.ts";
import { unanswered } from "./unanswered.ts";
import { webhook } from "./webhook.ts";

/** Every kind of message. */
export const MESSAGE_KINDS: readonly MessageKind[] = [
  githubComment,
  githubStatus,
  githubCheck,
  githubReaction,
  githubPull,
  githubPush,
  githubIssue,
  githubLabel,
  githubReview,
  linePush,
  slackPost,
  webhook,
  email,
  unanswered,
];

/** The kind of this name, if there is one. */
export function findMessageKind(name: string): MessageKind | undefined {
  return MESSAGE_KINDS.find((kind) => kind.name === name);
}
