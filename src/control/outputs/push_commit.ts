/**
 * `github.push` and `gitlab.push`: from what a step hands over to the message that brings one more commit
 * onto the pull of its event.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import { AppError } from "../../base/errors.ts";
import { capitalPull } from "../../base/forge_names.ts";
import type { FoundPull } from "../../connections/api/forge.ts";
import { asAppError, kindName, threadTarget } from "../../outbox/forge_access.ts";
import type { PushBody } from "../../outbox/push.ts";
import type { Draft } from "../../outbox/message_kind.ts";
import { refuseLeaks } from "../../outputs/leaks.ts";
import type { AttachedFile } from "../server/input_reader.ts";
import { type ChangePlace, findPlace } from "./change_place.ts";
import { judgeChange } from "./judge_change.ts";
import type { AskedOf } from "./output_asked.ts";
import { type ChangeHost, commitChange, openChange, queueCommit } from "./queue_change.ts";

/**
 * Puts a commit into the outbox.
 *
 * @throws {AppError} `refused` with the rule that forbids it, `invalid`, `overloaded`.
 */
export async function pushCommitOf(
  asked: AskedOf<Input<"github.push">>,
  { path: pack, signal }: AttachedFile,
  host: ChangeHost,
): Promise<Output<"github.push">> {
  const place = await findPlace(asked, "push", host);
  const { task, limits, forge: { name: forge, words }, at, repository, subject, connection } =
    place;
  const number = subject?.isPull === true ? subject.number : undefined;
  if (number === undefined) {
    const message = `The event that task ${task.id} is about has no ${words.pull} to push onto`;
    throw new AppError("refused", message);
  }
  const { message = `Change ${words.pull} ${number}`, start, tree } = asked.input;
  if (message.trim() === "") throw new AppError("invalid", "The message of the commit is empty");
  refuseLeaks({ message }, host);
  await using change = await openChange({ start, tree, pack }, signal, host);
  return await asAppError(async () => {
    const pull = await openPull(place, number);
    const head = await at.headOf(pull.branch);
    if (head !== start) {
      const what = head === undefined ? "has no branch any more" : `is at ${head.slice(0, 10)} now`;
      const message = `${capitalPull(words, number)} ${what}, and this change begins at ` +
        `${start.slice(0, 10)}: begin at its newest commit (svc task retry)`;
      throw new AppError("refused", message);
    }
    const rules = { forge, output: "push", workflow: task.workflow, limits } as const;
    const judged = await judgeChange(change, rules, host);
    const commit = await commitChange(change, { place, message }, host);
    const { files, added, removed, workflows } = judged;
    const body: PushBody = { commit, start, tree, files, added, removed, workflows };
    const draft: Draft = {
      project: task.project,
      connection: connection.name,
      kind: kindName(forge, "push"),
      target: { repository, ...threadTarget({ forge, number, isPull: true }) },
      key: "", // none replaces another
      body,
      taskId: task.id,
      counted: {
        output: "push",
        unit: "",
        max: limits.max,
        rounds: {
          place: `${repository.toLowerCase()}${words.pullSign}${number}`,
          most: limits.rounds,
          byPerson: isPerson(place),
        },
      },
    };
    const { branch } = pull;
    const queued = await queueCommit(draft, { change, commit, judged }, host);
    return { ...queued, branch, base: null, commit_object: await change.readCommit(commit) };
  });
}

/** Whether a person has started the task: neither a bot nor svc itself. */
function isPerson({ asker, own }: ChangePlace<"push">): boolean {
  return asker !== undefined && !asker.isBot && own !== undefined && asker.id !== own.userId;
}

async function openPull(place: ChangePlace<"push">, number: number): Promise<FoundPull> {
  const pull = await place.at.readPull(number);
  const name = capitalPull(place.forge.words, number);
  if (pull === undefined) {
    const message =
      `${name} is from another repository than ${place.repository}, where svc pushes ` +
      "nothing";
    throw new AppError("refused", message);
  }
  if (!pull.isOpen) throw new AppError("refused", `${name} is closed`);
  return pull;
}
