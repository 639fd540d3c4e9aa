/**
 * What the check suites of a commit say. Pure. Each run of a workflow of GitHub Actions has a suite of its
 * own, and a newer run takes the place of what it has done again: a job that it has left out says nothing
 * about the one that has failed before.
 *
 * @module
 */

import type { CheckState } from "../../base/forge_names.ts";
import { type JsonObject, objectIn } from "../../base/json.ts";
import type { FoundCheck } from "../api/forge.ts";
import { nameOf } from "../api/platform_name.ts";
import { pageIn } from "../api/repository_reads.ts";

/** What GitHub counts as passed; any other end of a check run, also an unknown one, is red. */
const PASSED: ReadonlySet<unknown> = new Set(["success", "neutral", "skipped"]);

/** By the id of a suite, those of newer runs of the same workflow, by the same event for the same branch. */
export type NewerSuites = ReadonlyMap<unknown, ReadonlySet<unknown>>;

/** Finds the suites of newer runs among the runs of a commit, in whatever order they are listed. */
export function newerSuites(runs: readonly JsonObject[]): NewerSuites {
  const newer = new Map<unknown, Set<unknown>>();
  const ordered = runs.filter(({ id }) => typeof id === "number"); // others have no order
  for (const alike of Map.groupBy(ordered, keyOfRun).values()) {
    for (const { id, check_suite_id: suite } of alike) {
      const behind = alike.filter((other) => Number(other["id"]) > Number(id));
      newer.set(suite, new Set(behind.map((other) => other["check_suite_id"])));
    }
  }
  return newer;
}

/** Another repository may have a branch of the same name, with the same commit. */
function keyOfRun({ workflow_id, event, head_branch, head_repository }: JsonObject): string {
  return JSON.stringify([workflow_id, event, head_branch, objectIn(head_repository)["id"]]);
}

/** What the suites say; `own` is the id of svc's App. */
export function checksOfSuites(
  suites: readonly JsonObject[],
  { runs, newer, own }: {
    readonly runs: readonly JsonObject[];
    readonly newer: NewerSuites;
    readonly own: number | undefined;
  },
): readonly FoundCheck[] {
  const runsOf = Map.groupBy(runs, (run) => objectIn(run["check_suite"])["id"]);
  const known = new Map(suites.map((suite) => [suite["id"], suite]));
  return suites.flatMap((suite) => {
    const { id } = suite;
    const replacing = [...newer.get(id) ?? []].flatMap((one) => {
      const found = one === id ? undefined : known.get(one);
      return found === undefined ? [] : [{ isOver: isOver(found), runs: runsOf.get(one) ?? [] }];
    });
    const ofSuite = runsOf.get(id) ?? [];
    const left = ofSuite.filter((run) => !replacing.some((one) => isDoneAgain(run, one)));
    const checks = left.map((run) => checkOfRun(run, own));
    const isReplaced = replacing.some(isOver(suite) ? hasDone : hasDoneAll);
    if (isReplaced || isOver(suite) && ofSuite.length > 0) return checks;
    return [...checks, ...checkOfSuite(suite, checks)];
  });
}

const isOver = ({ status }: JsonObject) => status === "completed";
const isSkipped = (run: JsonObject) => isOver(run) && run["conclusion"] === "skipped";

/** A suite, and its check runs. */
interface Replacing {
  readonly isOver: boolean;
  readonly runs: readonly JsonObject[];
}

/** Whether a newer suite has not ended, or has done something. */
const hasDone = ({ isOver, runs }: Replacing) => !isOver || runs.some((run) => !isSkipped(run));

/** Whether it has not ended, or has left nothing out. */
const hasDoneAll = (newer: Replacing) => hasDone(newer) && !newer.runs.some(isSkipped);

/**
 * Whether a newer suite counts in place of a check run. Until that has ended, it is itself what is pending.
 * A job that was cancelled before it began has no other name than a pattern, which a job that ran does not
 * have.
 */
function isDoneAgain({ name, status, conclusion }: JsonObject, newer: Replacing): boolean {
  if (!newer.isOver) return true;
  const same = newer.runs.filter((run) => run["name"] === name);
  if (same.length > 0) return !same.some(isSkipped);
  return status === "completed" && conclusion === "cancelled" && hasDone(newer);
}

function checkOfRun(
  { name, status, conclusion, html_url: url, app }: JsonObject,
  own: number | undefined,
): FoundCheck {
  const state = status !== "completed" ? "pending" : PASSED.has(conclusion) ? "green" : "red";
  const isSettable = own !== undefined && objectIn(app)["id"] === own;
  return foundCheck({
    name,
    state,
    said: status === "completed" ? conclusion : status,
    url,
    isSettable,
  });
}

/**
 * What a suite says that has not ended or has no check runs. One of GitHub Actions may get more of them, and
 * one that ended badly without any has not even begun. Other Apps have a suite for every commit, and may
 * never use it.
 */
function checkOfSuite(suite: JsonObject, checks: readonly FoundCheck[]): FoundCheck[] {
  const { app, status, conclusion } = suite;
  const { name, slug } = objectIn(app);
  if (!isOver(suite)) {
    const isKnown = checks.some(({ state }) => state === "pending");
    if (slug !== "github-actions" || isKnown) return [];
    return [foundCheck({ name, state: "pending", said: status })];
  }
  if (conclusion === null || PASSED.has(conclusion)) return [];
  return [foundCheck({ name, state: "red", said: conclusion })];
}

/** A check, of whatever a forge says. */
export function foundCheck({ name, state, said, url, isSettable = false }: {
  readonly name: unknown;
  readonly state: CheckState;
  readonly said: unknown;
  readonly url?: unknown;
  readonly isSettable?: boolean;
}): FoundCheck {
  return { name: nameOf(name), state, said: nameOf(said), url: pageIn(url), isSettable };
}
