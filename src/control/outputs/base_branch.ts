/**
 * The branch into which a change is to be merged, and whether the commit at which it starts is there: a
 * pull must not publish what somebody has kept on a machine.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { spellInLines } from "../../base/control_characters.ts";
import type { BranchOfKey } from "../../outbox/pulls.ts";
import { matchesAny } from "../../outputs/path_rules.ts";
import type { ChangePlace } from "./change_place.ts";

/** Most commits that are named. */
const MAX_NAMED = 3;

/**
 * The branch that a change may be merged into: the one that is asked for, or the default branch.
 *
 * @throws {AppError} `refused` if the workflow does not allow it, or there is none; `overloaded`.
 */
export async function findBase(
  place: ChangePlace<"pull">,
  asked: string | undefined,
): Promise<string> {
  const { limits: { base: patterns }, task: { workflow }, forge, at, repository } = place;
  const { defaultBranch: usual, isArchived } = await at.readFacts();
  if (isArchived) {
    throw new AppError("refused", `${repository} is archived, so nobody can change it`);
  }
  const base = asked ?? usual;
  const isAllowed = patterns === undefined ? base === usual : matchesAny(patterns, base);
  if (!isAllowed || base === "") {
    const allowed = patterns?.join(", ") ?? `${usual}, the default branch`;
    const message =
      `may.${forge.name}.pull.base of Workflow "${workflow}" allows ${allowed}, and ` +
      `not "${base}"`;
    throw new AppError("refused", message);
  }
  // Where the API takes a branch it also takes a commit and `OWNER:BRANCH`, those of forks among them.
  if (base !== usual && await place.at.headOf(base) === undefined) {
    throw new AppError("refused", `${repository} has no branch "${base}"`);
  }
  return base;
}

/**
 * Refuses a change that starts at commits which are neither in its base at the forge nor on the branch of
 * its own pull.
 *
 * @throws {AppError} `refused`, naming them; `overloaded`.
 */
export async function refuseUnpublished(
  place: ChangePlace<"pull">,
  { base, start, at }: {
    readonly base: string;
    readonly start: string;
    readonly at: BranchOfKey;
  },
): Promise<void> {
  const { repository } = place;
  const found = await place.at.compare(base, start);
  if (found.isKnown && found.ahead === 0) return;
  if (!found.isKnown && await place.at.headOf(base) === undefined) {
    throw new AppError("refused", `${repository} has no branch "${base}"`);
  }
  if (at.open !== undefined) {
    const own = await place.at.compare(at.branch, start);
    if (own.isKnown && own.ahead === 0) return;
  }
  const where = `at ${repository}`;
  if (!found.isKnown) {
    const message = `The commit ${start.slice(0, 10)}, at which the task began, is not ${where}: ` +
      "push it first, or begin at one that is there";
    throw new AppError("refused", message);
  }
  const names = found.commits.slice(-MAX_NAMED).map(({ sha, message }) =>
    `${sha.slice(0, 10)} ${spellInLines(message.split("\n")[0] ?? "", "").slice(0, 80)}`
  );
  const more = found.ahead > names.length ? ` and ${found.ahead - names.length} more` : "";
  const message =
    `The task began at commits that are not in ${base} ${where}: ${names.join(", ")}` +
    `${more}; merge them first, or begin at ${base}`;
  throw new AppError("refused", message);
}
