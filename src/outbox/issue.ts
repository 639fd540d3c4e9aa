/**
 * The kind `github-issue`, and its like at other forges: an issue. A later message of its key renews it
 * while it is open, and makes a new one once it is closed. Its marker finds an issue that may have
 * arrived, and counts the open issues of a workflow.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import {
  CLOCKS_DIFFER_MS,
  forgeKind,
  type ForgeSending,
  isByUser,
  markedIn,
  mustHaveLabels,
} from "./forge_access.ts";
import type { MarkedPlace } from "./marker.ts";
import type { FindResult, SendResult } from "./message_kind.ts";
import { bodyWithin, footerOf } from "./pull_text.ts";

/** Its id is the number of the issue. */
export const issueKinds = forgeKind({
  output: "issue",
  again: "find",
  isReplaced: true,
  send,
  find,
});

async function send(sending: ForgeSending): Promise<SendResult> {
  const { at, previousId, message: { body } } = sending;
  const text = { title: String(body["title"] ?? ""), body: bodyOf(sending) };
  const asked = textsOf(body["asked"]);
  const labels = [...textsOf(body["labels"]), ...asked];
  await mustHaveLabels(asked, sending);
  const previous = Number(previousId);
  if (previousId !== "" && await at.isIssueOpen(previous)) {
    await at.editIssue(previous, text);
    if (labels.length > 0) await at.addLabels({ number: previous, isPull: false }, labels);
    return { result: "sent", externalId: previousId };
  }
  // The user must be known before the event of the issue comes, which can overtake the answer.
  await sending.ownUser();
  await mustHaveRoom(sending);
  const number = await at.addIssue({ ...text, labels });
  if (number !== undefined) return { result: "sent", externalId: String(number) };
  const reason = "the answer to the new issue names no issue";
  return { result: "later", reason, mayHaveArrived: true };
}

/** The text, made harmless, with the footer and the marker. */
function bodyOf(sending: ForgeSending): string {
  const { message: { body, taskId }, host } = sending;
  const marker = host.markers.make(placeOf(sending), { taskId, key: markerKey(sending) });
  const work = { taskId, workflow: String(body["workflow"]), asker: String(body["asker"]) };
  return bodyWithin(String(body["text"]), `${footerOf(work)}\n\n${marker}`);
}

/** An issue has no number before it is made, so the marker of its own text has none. */
function placeOf(sending: ForgeSending): MarkedPlace {
  return { ...markedIn(sending), number: 0, isPull: false };
}

/** Begins with the name of the workflow, see {@linkcode mustHaveRoom}. */
function markerKey({ message: { id, key, body } }: ForgeSending): string {
  return key === "" ? `${String(body["workflow"])}/${id}` : key;
}

/** Refuses one more issue where as many of the workflow are open as it may have. */
async function mustHaveRoom(sending: ForgeSending): Promise<void> {
  const { forge, message: { body }, repository } = sending;
  const most = Number(body["open"]);
  const workflow = String(body["workflow"]);
  let open = 0;
  for await (const { key } of ownIssues(sending)) {
    if (key.startsWith(`${workflow}/`)) open++;
    if (open < most) continue;
    const said =
      `may.${forge.name}.issue of Workflow "${workflow}" allows ${most} open issues (open)`;
    throw new AppError(
      "refused",
      `${said}, and ${repository} has as many: close one, then send this again`,
    );
  }
}

/** Searches for an open issue with this key. */
async function find(sending: ForgeSending): Promise<FindResult> {
  const { uncertainSince = 0 } = sending;
  const since = Math.max(0, uncertainSince - CLOCKS_DIFFER_MS);
  const own = markerKey(sending);
  for await (const { id, key } of ownIssues(sending, since)) {
    if (key === own) return { result: "found", externalId: id };
  }
  return { result: "absent" };
}

/** The open issues that svc has made, the newest first; those that have changed since a time. */
async function* ownIssues(
  sending: ForgeSending,
  since?: number,
): AsyncGenerator<{ readonly id: string; readonly key: string }> {
  const user = await sending.ownUser();
  for await (const issue of sending.at.ownIssues(since)) {
    if (!isByUser(issue, user)) continue;
    const marker = sending.host.markers.find(issue.body, placeOf(sending));
    if (marker !== undefined) yield { id: issue.id, key: marker.key };
  }
}

function textsOf(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.map(String) : [];
}
