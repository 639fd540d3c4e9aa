/**
 * The kind `github-status`, and its like at other forges: the status of a commit. The last one of a
 * context counts, so sending it again changes nothing.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { namePull, STATUS_STATES } from "../base/forge_names.ts";
import { forgeKind, type ForgeSending } from "./forge_access.ts";
import type { SendResult } from "./message_kind.ts";

/** Longest description that GitHub takes; others take longer ones. */
const MAX_DESCRIPTION = 140;

/** Its id is the commit. */
export const statusKinds = forgeKind({
  output: "status",
  again: "harmless",
  send,
});

async function send(sending: ForgeSending): Promise<SendResult> {
  const { at, previousId, message: { target, body } } = sending;
  // An update stays on the commit of the first status, even if the pull has a newer head.
  const sha = previousId === "" ? await commitOf(sending) : previousId;
  const text = String(body["description"] ?? "").replaceAll(/\s+/g, " ");
  const description = [...text].length <= MAX_DESCRIPTION
    ? text
    : `${[...text].slice(0, MAX_DESCRIPTION - 1).join("")}…`;
  await at.setStatus({
    sha,
    state: STATUS_STATES.find((state) => state === body["state"]) ?? "error",
    context: String(target["context"]),
    description,
    ...defined({ pull: pullOf(sending) }),
  });
  return { result: "sent", externalId: sha };
}

/** The commit of a message's target. For a pull: the commit that a step named, else its head. */
export async function commitOf(sending: ForgeSending): Promise<string> {
  const { at, forge: { words }, message: { target } } = sending;
  const sha = String(target["sha"] ?? "");
  const pull = pullOf(sending);
  if (pull === undefined) return sha;
  const name = namePull(words, pull);
  if (sha === "") {
    const head = await at.headOfPull(pull);
    if (head !== undefined) return head;
    throw new AppError("refused", `The answer about ${name} names no commit`);
  }
  if (await at.isCommitOfPull(sha, pull)) return sha;
  throw new AppError("refused", `${sha} is not a commit of ${name}: name one that is`);
}

/** The pull of which the commit is, if the event named one and no commit. */
function pullOf({ message: { target } }: ForgeSending): number | undefined {
  const pull = Number(target["pull"] ?? 0);
  return pull === 0 ? undefined : pull;
}
