/**
 * The kind `github-push`: one commit of svc's own onto the pull request of an event. It only ever goes
 * forward: a branch that has moved since is left as it is.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import { compare, headOf } from "./branch_commits.ts";
import { forgeKind, type ForgeSending, ownUserOf } from "./forge_access.ts";
import { type FoundPull, pullOf } from "./github_pulls.ts";
import { pushCommit } from "./github_push_ref.ts";
import type { NotSent, SendResult } from "./message_kind.ts";

/** Body of a message that pushes a commit onto a pull request. */
export interface PushBody extends JsonObject {
  /** The commit, the newest one of the pull request before it, and its tree. */
  readonly commit: string;
  readonly start: string;
  readonly tree: string;
  readonly files: number;
  readonly added: number;
  readonly removed: number;
  /** Whether it changes workflows of GitHub Actions. */
  readonly workflows: boolean;
}

/** The kind `github-push`; its id is the commit. */
export const pushKinds = forgeKind({
  output: "push",
  again: "harmless",
  needsPack: () => true,
  send,
});

const GONE = "has no branch any more: restore it, then svc task retry";

async function send(sending: ForgeSending): Promise<SendResult> {
  // The user must be known before the event of the push comes, which can overtake the answer.
  await ownUserOf(sending);
  const { repository, message: { target } } = sending;
  const { commit, start } = sending.message.body as PushBody;
  const pull = await pullOf(sending, Number(target["number"]));
  if (pull === undefined) {
    const reason = `pull request #${target["number"]} is not from a branch of ${repository}: svc ` +
      "pushes to no fork";
    return { result: "refused", reason };
  }
  // Its branch itself: what a pull request says of it may be a moment old.
  const head = await headOf(sending, pull.branch);
  if (head === commit) return { result: "sent", externalId: commit };
  if (head === undefined) return refused(pull, GONE);
  if (head !== start) return await afterMove(sending, { pull, head, commit });
  if (!pull.isOpen) return refused(pull, "is closed: open it again, then svc task retry");
  const pushed = await pushCommit(sending, { branch: pull.branch, old: start, commit });
  switch (pushed.result) {
    case "done":
      return { result: "sent", externalId: commit };
    case "moved": {
      const now = await headOf(sending, pull.branch);
      if (now === undefined) return refused(pull, GONE);
      return await afterMove(sending, { pull, head: now, commit });
    }
    case "not":
      return pushed.notSent;
  }
}

/** The result where the branch has another newest commit: ours may be below it, from an earlier try. */
async function afterMove(
  sending: ForgeSending,
  { pull, head, commit }: {
    readonly pull: FoundPull;
    readonly head: string;
    readonly commit: string;
  },
): Promise<SendResult> {
  const { isKnown, behind } = await compare(sending, commit, head);
  if (head === commit || isKnown && behind === 0) return { result: "sent", externalId: commit };
  const { commits } = await compare(sending, String(sending.message.body["start"]), head);
  const by = commits.at(-1)?.by ?? "";
  const whose = by === "" ? "" : ` of ${by}`;
  return refused(pull, `has commits${whose} since: begin at them with svc task retry`);
}

function refused({ number }: FoundPull, why: string): NotSent {
  return { result: "refused", reason: `pull request #${number} ${why}` };
}
