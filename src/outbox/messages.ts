/**
 * REGISTRY of the kinds of messages: a kind is a file of this folder and a line here.
 *
 * @module
 */

import type { MessageKind } from "./message_kind.ts";
import { email } from "./email.ts";
import { commentKinds } from "./comment.ts";
import { githubCheckKinds } from "./github_check.ts";
import { githubReviewKinds } from "./github_review.ts";
import { gitlabReviewKinds } from "./gitlab_review.ts";
import { pullKinds } from "./pull.ts";
import { pushKinds } from "./push.ts";
import { issueKinds } from "./issue.ts";
import { labelKinds } from "./label.ts";
import { linePush } from "./line_push.ts";
import { reactionKinds } from "./reaction.ts";
import { slackAsk, slackNote } from "./slack_ask.ts";
import { slackPost } from "./slack_post.ts";
import { statusKinds } from "./status.ts";
import { unanswered } from "./unanswered.ts";
import { webhook } from "./webhook.ts";

/** Every kind of message. */
export const MESSAGE_KINDS: readonly MessageKind[] = [
  ...commentKinds,
  ...statusKinds,
  ...reactionKinds,
  ...pullKinds,
  ...pushKinds,
  ...issueKinds,
  ...labelKinds,
  ...githubReviewKinds,
  ...gitlabReviewKinds,
  ...githubCheckKinds,
  linePush,
  slackPost,
  slackAsk,
  slackNote,
  webhook,
  email,
  unanswered,
];

/** The kind of this name, if there is one. */
export function findMessageKind(name: string): MessageKind | undefined {
  return MESSAGE_KINDS.find((kind) => kind.name === name);
}
