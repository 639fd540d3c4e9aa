/**
 * The kind `github-label`: a label that an issue or pull request gets, or no longer has. The last
 * message about a label counts, so sending it again changes nothing.
 *
 * @module
 */

import { mustBeOk } from "../connections/api/forge.ts";
import { forgeKind, type ForgeSending, mustHaveLabels } from "./forge_access.ts";
import type { SendResult } from "./message_kind.ts";

export const labelKinds = forgeKind({
  output: "label",
  again: "harmless",
  send,
});

async function send(sending: ForgeSending): Promise<SendResult> {
  const { path, message: { target, body }, call } = sending;
  const label = String(target["label"]);
  const labels = `${path}/issues/${Number(target["number"])}/labels`;
  if (body["set"] === true) {
    await mustHaveLabels([label], sending);
    mustBeOk(await call({ method: "POST", path: labels, body: { labels: [label] } }));
    return { result: "sent", externalId: "" };
  }
  const gone = await call({ method: "DELETE", path: `${labels}/${encodeURIComponent(label)}` });
  // 404: it had no such label, or does not exist; the latter is told by asking for the issue
  if (!gone.ok && gone.status === 404) {
    mustBeOk(await call({ path: `${path}/issues/${Number(target["number"])}` }));
  } else mustBeOk(gone);
  return { result: "sent", externalId: "" };
}
