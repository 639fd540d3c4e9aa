/**
 * The kind `github-reaction`: a reaction to the subject of the event. Sending it again changes
 * nothing.
 *
 * @module
 */

import { mustBeOk } from "../connections/api/forge.ts";
import { forgeKind, type ForgeSending } from "./forge_access.ts";
import type { SendResult } from "./message_kind.ts";

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

export const reactionKinds = forgeKind({
  output: "react",
  again: "harmless",
  send,
});

async function send({ path, message: { target, body }, call }: ForgeSending): Promise<SendResult> {
  mustBeOk(
    await call({
      method: "POST",
      path: `${path}/${String(target["to"])}/reactions`,
      body: { content: body["content"] },
    }),
  );
  return { result: "sent", externalId: "" };
}
