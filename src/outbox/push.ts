/**
 * The kinds `github-push` and `gitlab-push`: one commit of svc's own onto the pull of an event. It only
 * ever goes forward: a branch that has moved since is left as it is.
 *
 * @module
 */

import { namePull } from "../base/forge_names.ts";
import type { JsonObject } from "../base/json.ts";
import { forgeKind, type ForgeSending } from "./forge_access.ts";
import type { NotSent, SendResult } from "./message_kind.ts";
import { pushCommit } from "./push_ref.ts";

/** Body of a message that pushes a commit onto a pull. */
export interface PushBody extends JsonObject {
  /** The commit, the newest one of the pull before it, and its tree. */
  readonly commit: string;
  readonly start: string;
  readonly tree: string;
  readonly files: number;
  readonly added: number;
  readonly removed: number;
  /** Whether it changes workflows of GitHub Actions. */
  readonly workflows: boolean;
}

/** The kinds; their id is the commit. */
export const pushKinds = forgeKind({
  output: "push",
  again: "harmless",
  needsPack: () => true,
  send,
});

const GONE = "has no branch any more: restore it, then svc task retry";

async function send(sending: ForgeSending): Promise<SendResult> {
  // The user must be known before the event of the push comes, which can overtake the answer.
  await sending.ownUser();
  const { at, forge: { words }, repository, message: { target } } = sending;
  const { commit, start } = sending.message.body as PushBody;
  const number = Number(target["number"]);
  const pull = await at.readPull(number);
  const name = namePull(words, number);
  const refused = (why: string): NotSent => ({ result: "refused", reason: `${name} ${why}` });
  if (pull === undefined) {
    const reason = `${name} is not from a branch of ${repository}: svc pushes to no fork`;
    return { result: "refused", reason };
  }
  // Its branch itself: what a pull says of it may be a moment old.
  const head = await at.headOf(pull.branch);
  if (head === commit) return { result: "sent", externalId: commit };
  if (head === undefined) return refused(GONE);
  if (head !== start) return await afterMove(sending, { head, commit, refused });
  if (!pull.isOpen) return refused("is closed: open it again, then svc task retry");
  const pushed = await pushCommit(sending, { branch: pull.branch, old: start, commit });
  switch (pushed.result) {
    case "done":
      return { result: "sent", externalId: commit };
    case "moved": {
      const now = await at.headOf(pull.branch);
      if (now === undefined) return refused(GONE);
      return await afterMove(sending, { head: now, commit, refused });
    }
    case "not":
      return pushed.notSent;
  }
}

/** The result where the branch has another newest commit: ours may be below it, from an earlier try. */
async function afterMove(
  sending: ForgeSending,
  { head, commit, refused }: {
    readonly head: string;
    readonly commit: string;
    readonly refused: (why: string) => NotSent;
  },
): Promise<SendResult> {
  const { isKnown, behind } = await sending.at.compare(commit, head);
  if (head === commit || isKnown && behind === 0) return { result: "sent", externalId: commit };
  const { commits } = await sending.at.compare(String(sending.message.body["start"]), head);
  const by = commits.at(-1)?.by ?? "";
  const whose = by === "" ? "" : ` of ${by}`;
  return refused(`has commits${whose} since: begin at them with svc task retry`);
}
