/**
 * `github.push`: from what a step hands over to the message that brings one more commit onto the pull
 * request of its event.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { AppError } from "../../base/errors.ts";
import { headOf } from "../../outbox/branch_commits.ts";
import { asAppError } from "../../outbox/forge_access.ts";
import { type FoundPull, pullOf } from "../../outbox/github_pulls.ts";
import type { PushBody } from "../../outbox/github_push.ts";
import type { Draft } from "../../outbox/message_kind.ts";
import { refuseLeaks } from "../../outputs/leaks.ts";
import type { AttachedFile } from "../server/input_reader.ts";
import { type ChangePlace, findPlace } from "./change_place.ts";
import { judgeChange } from "./judge_change.ts";
import { type ChangeHost, commitChange, openChange, queueCommit } from "./queue_change.ts";

/**
 * Puts a commit into the outbox.
 *
 * @throws {AppError} `refused` with the rule that forbids it, `invalid`, `overloaded`.
 */
export async function pushCommitOf(
  input: Input<"github.push">,
  caller: Caller,
  { path: pack, signal }: AttachedFile,
  host: ChangeHost,
): Promise<Output<"github.push">> {
  const place = await findPlace({ task: input.task, output: "push" }, caller, host);
  const { task, limits, repository, subject, connection } = place;
  const number = subject?.isPull === true ? subject.number : undefined;
  if (number === undefined) {
    const message = `The event that task ${task.id} is about has no pull request to push onto`;
    throw new AppError("refused", message);
  }
  const { message = `Change pull request ${number}`, start, tree } = input;
  if (message.trim() === "") throw new AppError("invalid", "The message of the commit is empty");
  refuseLeaks({ message }, host);
  await using change = await openChange({ start, tree, pack }, signal, host);
  return await asAppError(async () => {
    const pull = await openPull(place, number);
    const head = await headOf(place, pull.branch);
    if (head !== start) {
      const what = head === undefined ? "has no branch any more" : `is at ${head.slice(0, 10)} now`;
      const message = `Pull request #${number} ${what}, and this change begins at ` +
        `${start.slice(0, 10)}: begin at its newest commit (svc task retry)`;
      throw new AppError("refused", message);
    }
    const rules = { output: "push", workflow: task.workflow, limits } as const;
    const judged = await judgeChange(change, rules, host);
    const commit = await commitChange(change, { place, message }, host);
    const { files, added, removed, workflows } = judged;
    const body: PushBody = { commit, start, tree, files, added, removed, workflows };
    const draft: Draft = {
      project: task.project,
      connection: connection.name,
      kind: "github-push",
      target: { repository, number },
      key: "", // none replaces another
      body,
      taskId: task.id,
      counted: {
        output: "push",
        unit: "",
        max: limits.max,
        rounds: {
          place: `${repository.toLowerCase()}#${number}`,
          most: limits.rounds,
          byPerson: isPerson(place),
        },
      },
    };
    const { branch } = pull;
    return { ...await queueCommit(draft, { change, commit, judged }, host), branch, base: null };
  });
}

/** Whether a person has started the task: neither a bot nor svc itself. */
function isPerson({ asker, own }: ChangePlace<"push">): boolean {
  return asker !== undefined && !asker.isBot && own !== undefined && asker.id !== own.userId;
}

async function openPull(place: ChangePlace<"push">, number: number): Promise<FoundPull> {
  const pull = await pullOf(place, number);
  if (pull === undefined) {
    const message =
      `Pull request #${number} is from another repository than ${place.repository}, ` +
      "where svc pushes nothing";
    throw new AppError("refused", message);
  }
  if (!pull.isOpen) throw new AppError("refused", `Pull request #${number} is closed`);
  return pull;
}
