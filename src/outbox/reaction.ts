/**
 * The kind `github-reaction`, and its like at other forges: a reaction to the subject of the event.
 * Sending it again changes nothing.
 *
 * @module
 */

import { forgeKind, type ForgeSending } from "./forge_access.ts";
import type { SendResult } from "./message_kind.ts";

export const reactionKinds = forgeKind({
  output: "react",
  again: "harmless",
  send,
});

async function send({ at, message: { target, body } }: ForgeSending): Promise<SendResult> {
  await at.react(String(target["to"]), String(body["content"]));
  return { result: "sent", externalId: "" };
}
