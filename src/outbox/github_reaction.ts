/**
 * The kind `github-reaction`: a reaction to the subject of the event. Sending it again changes
 * nothing.
 *
 * @module
 */

import {
  GITHUB_RATES,
  type GitHubSending,
  gitHubWay,
  mustBeOk,
  viaGitHub,
} from "./github_access.ts";
import type { MessageKind, SendResult } from "./message_kind.ts";

/** The reactions that GitHub has. */
export const REACTIONS = [
  "+1",
  "-1",
  "laugh",
  "confused",
  "heart",
  "hooray",
  "rocket",
  "eyes",
] as const;
/** One of {@linkcode REACTIONS}. */
export type Reaction = typeof REACTIONS[number];

export const githubReaction: MessageKind = {
  name: "github-reaction",
  way: gitHubWay,
  again: "harmless",
  rates: GITHUB_RATES,
  send: viaGitHub(send),
};

async function send({ path, message: { target, body }, call }: GitHubSending): Promise<SendResult> {
  mustBeOk(
    await call({
      method: "POST",
      path: `${path}/${String(target["to"])}/reactions`,
      body: { content: body["content"] },
    }),
  );
  return { result: "sent", externalId: "" };
}
