/**
 * `github.pr_create` and `gitlab.mr_create`, and `…_update`: from what a step hands over to the message
 * that opens or renews a pull.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import { AppError } from "../../base/errors.ts";
import { capitalPull } from "../../base/forge_names.ts";
import { asAppError, kindName } from "../../outbox/forge_access.ts";
import type { PullBody, PullTextBody } from "../../outbox/pull.ts";
import { findBranch, findSame } from "../../outbox/pulls.ts";
import { aboutOf, checkedLabel } from "../../outbox/output_drafts.ts";
import { type Draft, MAX_STORED } from "../../outbox/message_kind.ts";
import { branchOf } from "../../outbox/pull_branches.ts";
import { titleOf } from "../../outbox/pull_text.ts";
import { refuseLeaks } from "../../outputs/leaks.ts";
import { matchesAny } from "../../outputs/path_rules.ts";
import { findBase, refuseUnpublished } from "./base_branch.ts";
import type { AttachedFile } from "../server/input_reader.ts";
import { type ChangePlace, findPlace } from "./change_place.ts";
import { judgeChange } from "./judge_change.ts";
import type { AskedOf } from "./output_asked.ts";
import {
  type ChangeHost,
  checkKey,
  commitChange,
  openChange,
  queueCommit,
  queueText,
} from "./queue_change.ts";

type Place = ChangePlace<"pull">;

/**
 * Puts a pull into the outbox. If the one of its key has the same content already, only its
 * title and text are renewed.
 *
 * @throws {AppError} `refused` with the rule that forbids it, `invalid`, `overloaded`.
 */
export async function createPull(
  asked: AskedOf<Input<"github.pr_create">>,
  { path: pack, signal }: AttachedFile,
  host: ChangeHost,
): Promise<Output<"github.pr_create">> {
  const { input } = asked;
  const place = await findPlace(asked, "pull", host);
  const { task, limits, forge, repository } = place;
  const { body: text = "", key = task.trigger, labels = [], start, tree } = input;
  checkKey(key, place.forge.words);
  checkLabels(labels, place);
  refuseLeaks({ title: input.title, text, labels: labels.join("\n"), key }, host);
  const title = shownTitle(input.title, place);
  const finding = asAppError(() => findBranches(place, { key, base: input.base, start }));
  finding.catch(() => {}); // it is awaited below; what fails first is told
  await using change = await openChange({ start, tree, pack }, signal, host);
  return await asAppError(async () => {
    const { base, at } = await finding;
    const rules = { forge: forge.name, output: "pull", workflow: task.workflow, limits } as const;
    const judged = await judgeChange(change, rules, host);
    const same = await findSame(place, { base, tree, except: at.branch });
    if (same !== undefined) {
      const message =
        `${capitalPull(forge.words, same.number)} onto ${base} has the same content ` +
        `already: close it, or renew it with --key ${same.marker?.key}`;
      throw new AppError("refused", message);
    }
    const facts = { branch: at.branch, base };
    const { open } = at;
    if (open?.marker?.tree === tree && open.base === base) {
      const queued = await queueText(textDraft(place, { key, title, text }), place, host);
      return { ...queued, ...facts, sha: open.sha, files: 0, added: 0, removed: 0 };
    }
    const commit = await commitChange(change, { place, message: title }, host);
    const body: PullBody = {
      ...sharedBody(place, key),
      base,
      start,
      tree,
      commit,
      title,
      text: text.slice(0, MAX_STORED),
      draft: limits.draft,
      labels: [...new Set([...limits.labels, ...labels])],
      reviewers: [...limits.reviewers],
      notes: [...judged.notes],
      askedAt: task.createdAt,
      workflows: judged.workflows,
      files: judged.files,
      added: judged.added,
      removed: judged.removed,
    };
    const draft = { ...sharedDraft(place, key), key, body };
    return { ...await queueCommit(draft, { change, commit, judged }, host), repository, ...facts };
  });
}

/** The branch of a pull and its base, where it begins at what is there already. */
async function findBranches(
  place: Place,
  { key, base: asked, start }: {
    readonly key: string;
    readonly base: string | undefined;
    readonly start: string;
  },
) {
  const base = await findBase(place, asked);
  const branch = branchFor(place, key);
  const at = await findBranch(place, { branch, key, own: place.own?.userId });
  await refuseUnpublished(place, { base, start, at });
  return { base, at };
}

/**
 * Puts another title or text of a pull into the outbox.
 *
 * @throws {AppError} `refused` with the rule that forbids it, `invalid`.
 */
export async function updatePull(
  asked: AskedOf<Input<"github.pr_update">>,
  host: ChangeHost,
): Promise<Output<"github.pr_update">> {
  const place = await findPlace(asked, "pull", host);
  const { title, body: text, key = place.task.trigger } = asked.input;
  checkKey(key, place.forge.words);
  if (title === undefined && text === undefined) {
    throw new AppError("invalid", "Nothing is to be changed: give a title or a text");
  }
  refuseLeaks({ title: title ?? "", text: text ?? "", key }, host);
  const shown = title === undefined ? "" : shownTitle(title, place);
  return await queueText(textDraft(place, { key, title: shown, text }), place, host);
}

/** A message that changes the title or the text alone; it goes behind the one with the content. */
function textDraft(
  place: Place,
  { key, title, text }: {
    readonly key: string;
    /** Empty for the title as it is. */
    readonly title: string;
    readonly text: string | undefined;
  },
): Draft {
  const stored = text?.slice(0, MAX_STORED) ?? null;
  const body: PullTextBody = { ...sharedBody(place, key), title, text: stored };
  // No key has a space: it replaces no message with content, and none replaces it.
  return { ...sharedDraft(place, key), key: `${key} text`, body };
}

function sharedDraft(place: Place, key: string) {
  const { task, connection, forge, repository, limits } = place;
  return {
    project: task.project,
    connection: connection.name,
    kind: kindName(forge.name, "pull"),
    target: { repository, subject: aboutOf(place.subject) ?? task.trigger },
    taskId: task.id,
    counted: { output: "pull", unit: key, max: limits.max },
  };
}

function sharedBody(place: Place, key: string) {
  const { task: { id, trigger, workflow }, asker, subject } = place;
  const closes = subject?.isPull === false ? subject.number ?? 0 : 0;
  return {
    branch: branchFor(place, key),
    pullKey: key,
    fixes: closes,
    taskId: id,
    trigger,
    workflow,
    asker: asker?.login ?? "",
  };
}

/** The first branch of a key. */
function branchFor(place: Place, key: string): string {
  const about = aboutOf(place.subject);
  return branchOf({ prefix: place.limits.branch, key, ...about === undefined ? {} : { about } });
}

function shownTitle(title: string, { limits, forge: { name, words } }: Place): string {
  if (title.trim() === "") throw new AppError("invalid", `A ${words.pull} needs a title`);
  return titleOf(limits.title, title, name);
}

function checkLabels(
  labels: readonly string[],
  { forge, limits, task: { workflow } }: Place,
): void {
  const { allowLabels, labels: always } = limits;
  for (const label of labels) checkedLabel(label, forge.name);
  const refused = labels.find((label) =>
    !always.includes(label) && !matchesAny(allowLabels, label)
  );
  if (refused === undefined) return;
  const allowed = [...always, ...allowLabels];
  const message = `may.${forge.name}.pull.allowLabels of Workflow "${workflow}" allows ` +
    `${allowed.length === 0 ? "no labels" : allowed.join(", ")}, and not "${refused}"`;
  throw new AppError("refused", message);
}
