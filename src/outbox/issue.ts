/**
 * The kind `github-issue`: an issue. A later message of its key renews it while it is open, and makes a
 * new one once it is closed. Its marker finds an issue that may have arrived, and counts the open issues
 * of a workflow.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import { pagesOf } from "../connections/api/pages.ts";
import { mustBeOk } from "../connections/api/forge.ts";
import {
  CLOCKS_DIFFER_MS,
  forgeKind,
  type ForgeSending,
  isByUser,
  mustHaveLabels,
  ownUserOf,
} from "./forge_access.ts";
import type { MarkedPlace } from "./marker.ts";
import type { FindResult, SendResult } from "./message_kind.ts";
import { bodyWithin, footerOf } from "./pull_text.ts";

/** The kind `github-issue`; its id is the number of the issue. */
export const issueKinds = forgeKind({
  output: "issue",
  again: "find",
  isReplaced: true,
  send,
  find,
});

/** Bodies of issues are long: pages of fewer issues than GitHub allows, and larger answers. */
const PAGE = { items: 50, maxBytes: 32 * 1024 * 1024 };

async function send(sending: ForgeSending): Promise<SendResult> {
  const { path, previousId, message: { body }, call } = sending;
  const text = { title: body["title"] ?? "", body: bodyOf(sending) };
  const asked = textsOf(body["asked"]);
  const labels = [...textsOf(body["labels"]), ...asked];
  await mustHaveLabels(asked, sending);
  if (previousId !== "" && await isOpen(sending)) {
    const issue = `${path}/issues/${previousId}`;
    mustBeOk(await call({ method: "PATCH", path: issue, body: text }));
    if (labels.length > 0) {
      mustBeOk(await call({ method: "POST", path: `${issue}/labels`, body: { labels } }));
    }
    return { result: "sent", externalId: previousId };
  }
  // The user must be known before the event of the issue comes, which can overtake the answer.
  await ownUserOf(sending);
  await mustHaveRoom(sending);
  const made = mustBeOk(
    await call({ method: "POST", path: `${path}/issues`, body: { ...text, labels } }),
  );
  const number = numberOf(made.data);
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
function placeOf({ message: { project }, repository }: ForgeSending): MarkedPlace {
  return { project, repository, number: 0 };
}

/** Begins with the name of the workflow, see {@linkcode mustHaveRoom}. */
function markerKey({ message: { id, key, body } }: ForgeSending): string {
  return key === "" ? `${String(body["workflow"])}/${id}` : key;
}

/** Whether the issue that was sent before is still open; not if it was deleted or has moved away. */
async function isOpen({ path, previousId, call }: ForgeSending): Promise<boolean> {
  const answer = await call({ path: `${path}/issues/${previousId}` });
  if (!answer.ok && [301, 404, 410].includes(answer.status)) return false;
  const { data } = mustBeOk(answer);
  return isJsonObject(data) && data["state"] === "open";
}

/** Refuses one more issue where as many of the workflow are open as it may have. */
async function mustHaveRoom(sending: ForgeSending): Promise<void> {
  const { message: { body }, repository } = sending;
  const most = Number(body["open"]);
  const workflow = String(body["workflow"]);
  let open = 0;
  for await (const { key } of ownIssues(sending)) {
    if (key.startsWith(`${workflow}/`)) open++;
    if (open < most) continue;
    const said = `may.github.issue of Workflow "${workflow}" allows ${most} open issues (open)`;
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
  for await (const { number, key } of ownIssues(sending, since)) {
    if (key === own) return { result: "found", externalId: String(number) };
  }
  return { result: "absent" };
}

/** The open issues that svc has made, the newest first; those that have changed since a time. */
async function* ownIssues(
  sending: ForgeSending,
  since?: number,
): AsyncGenerator<{ readonly number: number; readonly key: string }> {
  const { path, call, host } = sending;
  const user = await ownUserOf(sending);
  const query = new URLSearchParams({
    state: "open",
    sort: "created",
    direction: "desc",
    per_page: String(PAGE.items),
    ...await creatorOf(sending),
    ...since === undefined ? {} : { since: rfc3339(since) },
  });
  const read = async (path: string) => mustBeOk(await call({ path, maxBytes: PAGE.maxBytes }));
  for await (const { data } of pagesOf(`${path}/issues?${query}`, { read, clock: host.clock })) {
    for (const issue of Array.isArray(data) ? data : []) {
      const number = numberOf(issue);
      if (number === undefined || !isJsonObject(issue) || !isByUser(issue["user"], user)) continue;
      if (issue["state"] !== "open" || issue["pull_request"] !== undefined) continue;
      const marker = host.markers.find(String(issue["body"] ?? ""), placeOf(sending));
      if (marker !== undefined) yield { number, key: marker.key };
    }
  }
}

/** Narrows a list of issues to those of svc's user, if the API says who that is. */
async function creatorOf({ connection, call }: ForgeSending): Promise<{ creator?: string }> {
  const { app } = connection.spec.github ?? {};
  if (app !== undefined) return app.slug === undefined ? {} : { creator: `${app.slug}[bot]` };
  const answer = await call({ path: "/user" });
  const login = answer.ok && isJsonObject(answer.data) ? answer.data["login"] : undefined;
  return typeof login === "string" ? { creator: login } : {};
}

function numberOf(issue: unknown): number | undefined {
  const number = isJsonObject(issue) ? issue["number"] : undefined;
  return typeof number === "number" && Number.isSafeInteger(number) && number > 0
    ? number
    : undefined;
}

function textsOf(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.map(String) : [];
}
