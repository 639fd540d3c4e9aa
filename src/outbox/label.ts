/**
 * The kind `github-label`, and its like at other forges: a label that an issue or pull gets, or no
 * longer has. The last message about a label counts, so sending it again changes nothing.
 *
 * @module
 */

import { forgeKind, type ForgeSending, mustHaveLabels, threadOf } from "./forge_access.ts";
import type { SendResult } from "./message_kind.ts";

export const labelKinds = forgeKind({
  output: "label",
  again: "harmless",
  send,
});

async function send(sending: ForgeSending): Promise<SendResult> {
  const { at, message: { target, body } } = sending;
  const label = String(target["label"]);
  const thread = threadOf(sending);
  if (body["set"] === true) {
    await mustHaveLabels([label], sending);
    await at.addLabels(thread, [label]);
  } else await at.removeLabel(thread, label);
  return { result: "sent", externalId: "" };
}
