/**
 * The kind `github-status`: the status of a commit. The last one of a context counts, so sending it
 * again changes nothing.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import { mustBeOk } from "../connections/api/forge.ts";
import { forgeKind, type ForgeSending } from "./forge_access.ts";
import type { SendResult } from "./message_kind.ts";

/** States that a status can have. */
export const STATUS_STATES = ["pending", "success", "failure", "error"] as const;
/** One of {@linkcode STATUS_STATES}. */
export type StatusState = typeof STATUS_STATES[number];

/** Longest description that GitHub takes. */
const MAX_DESCRIPTION = 140;

/** The kind `github-status`; its id is the commit. */
export const statusKinds = forgeKind({
  output: "status",
  again: "harmless",
  send,
});

async function send(sending: ForgeSending): Promise<SendResult> {
  const { path, previousId, message: { target, body }, call } = sending;
  // An update stays on the commit of the first status, even if the pull request has a newer head.
  const sha = previousId === "" ? await commitOf(sending) : previousId;
  const text = String(body["description"] ?? "").replaceAll(/\s+/g, " ");
  const description = [...text].length <= MAX_DESCRIPTION
    ? text
    : `${[...text].slice(0, MAX_DESCRIPTION - 1).join("")}…`;
  mustBeOk(
    await call({
      method: "POST",
      path: `${path}/statuses/${sha}`,
      body: { state: body["state"], context: target["context"], description },
    }),
  );
  return { result: "sent", externalId: sha };
}

/** The commit of a message's target. For a pull request: the commit that a step named, else its head. */
export async function commitOf(sending: ForgeSending): Promise<string> {
  const { message: { target }, path, call } = sending;
  const sha = String(target["sha"] ?? "");
  const pull = Number(target["pull"] ?? 0);
  if (pull === 0) return sha;
  if (sha !== "") {
    await checkCommit(sending, sha, pull);
    return sha;
  }
  const { data } = mustBeOk(await call({ path: `${path}/pulls/${pull}` }));
  const head = isJsonObject(data) && isJsonObject(data["head"]) ? data["head"]["sha"] : undefined;
  if (typeof head === "string") return head;
  throw new AppError("refused", `The answer about pull request ${pull} names no commit`);
}

/** Refuses a commit, named by a step, that does not belong to the pull request. */
async function checkCommit(
  { path, call }: ForgeSending,
  sha: string,
  pull: number,
): Promise<void> {
  let next: string | undefined = `${path}/pulls/${pull}/commits?per_page=100`;
  while (next !== undefined) {
    const page = mustBeOk(await call({ path: next }));
    const commits = Array.isArray(page.data) ? page.data : [];
    if (commits.some((one) => isJsonObject(one) && one["sha"] === sha)) return;
    next = page.next;
  }
  throw new AppError("refused", `${sha} is not a commit of pull request ${pull}: name one that is`);
}
