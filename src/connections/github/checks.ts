/**
 * What has looked at a commit at GitHub: check runs, check suites without any, and statuses. Gitea and
 * Forgejo have statuses only; their Actions set them.
 *
 * @module
 */

import type { CheckState } from "../../base/forge_names.ts";
import { type JsonObject, objectIn, textIn } from "../../base/json.ts";
import { apiUrlOf } from "../../resources/connection.ts";
import type { ForgeChecks, FoundCheck, RepositoryHost } from "../api/forge.ts";
import { itemsOf, newestBy } from "../api/item_lists.ts";
import { nameOf } from "../api/platform_name.ts";
import { pageIn } from "../api/repository_reads.ts";
import type { RestFailure } from "../api/rest.ts";
import { isGitea } from "./hooks.ts";

/** Pages of one list, and check runs on a page: each holds texts of up to 128 KiB. */
const PAGES = { pages: 20, withinMs: 60_000 };
const MAX_BYTES = 32 * 1024 * 1024;
const RUNS = 50;

/** What GitHub counts as passed; any other end of a check run, also an unknown one, is red. */
const PASSED: ReadonlySet<unknown> = new Set(["success", "neutral", "skipped"]);

/** The checks of commits of a repository. */
export function gitHubChecks({ connection, repository, call, clock }: RepositoryHost): ForgeChecks {
  const path = `/repos/${repository}`;
  const isOther = isGitea(apiUrlOf(connection.spec));
  const own = connection.spec.github?.app?.id;
  const reading = { call, clock, most: PAGES };
  const ofCommit = { ...reading, maxBytes: MAX_BYTES, isAbsent: isNoCommit };
  return {
    async checksOf(sha) {
      const commit = `${path}/commits/${sha}`;
      const most = `${isOther ? "limit" : "per_page"}=100`;
      const statuses = await itemsOf(`${commit}/statuses?${most}`, ofCommit);
      if (statuses === undefined) return undefined;
      const found = checksOfStatuses(statuses);
      if (isOther) return found;
      const asSuites = { ...ofCommit, member: "check_suites" };
      const suites = await itemsOf(`${commit}/check-suites?${most}`, asSuites);
      if (suites === undefined) return undefined;
      if (suites.length === 0) return found;
      const replaced = await replacedSuites(sha);
      const counted = suites.filter(({ id }) => !replaced.has(id));
      const asRuns = { ...ofCommit, member: "check_runs" };
      const runs = await itemsOf(`${commit}/check-runs?per_page=${RUNS}`, asRuns) ?? [];
      const bySuite = Map.groupBy(runs, (run) => objectIn(run["check_suite"])["id"]);
      return [
        ...counted.flatMap((suite) =>
          bySuite.get(suite["id"])?.map((run) => checkOfRun(run, own)) ?? checkOfBareSuite(suite)
        ),
        ...found,
      ];
    },
  };

  /**
   * The suites of runs of GitHub Actions that a newer run of the same workflow has replaced: started by
   * the same event on the same branch. A token that may not see runs finds none, so all of them count.
   */
  async function replacedSuites(sha: string): Promise<ReadonlySet<unknown>> {
    const first = `${path}/actions/runs?head_sha=${sha}&per_page=100`;
    const asRuns = { ...reading, member: "workflow_runs", isAbsent: isHidden };
    const found = await itemsOf(first, asRuns) ?? [];
    const runs = found.filter(({ id }) => typeof id === "number"); // others have no order
    const newest = newestBy(
      runs,
      ({ workflow_id, event, head_branch }) => [workflow_id, event, head_branch],
    );
    // By suite: a list that changes between two pages may give a run twice.
    const suitesOf = (those: readonly JsonObject[]) =>
      new Set(those.map((run) => run["check_suite_id"]));
    return suitesOf(runs).difference(suitesOf(newest));
  }
}

const isNoCommit = ({ status }: RestFailure) => status === 404 || status === 422;
const isHidden = ({ kind, status }: RestFailure) =>
  kind === "refused" && (status === 403 || status === 404);

function checkOfRun(
  { name, status, conclusion, html_url: url, app }: JsonObject,
  own: number | undefined,
): FoundCheck {
  const isOver = status === "completed";
  const state = !isOver ? "pending" : PASSED.has(conclusion) ? "green" : "red";
  const isSettable = own !== undefined && objectIn(app)["id"] === own;
  return found({ name, state, said: isOver ? conclusion : status, url, isSettable });
}

/**
 * What a suite without check runs says. One of GitHub Actions that has not ended will have some, and one
 * that ended badly has not even begun. Other Apps have a suite for every commit, and may never use it.
 */
function checkOfBareSuite({ app, status, conclusion }: JsonObject): FoundCheck[] {
  const { name, slug } = objectIn(app);
  if (status !== "completed") {
    if (slug !== "github-actions") return [];
    return [found({ name, state: "pending", said: status })];
  }
  if (conclusion === null || PASSED.has(conclusion)) return [];
  return [found({ name, state: "red", said: conclusion })];
}

const STATUSES: Readonly<Record<string, CheckState>> = {
  success: "green",
  skipped: "green", // Gitea
  pending: "pending",
};

/** What the newest status of each context says. */
function checksOfStatuses(statuses: readonly JsonObject[]): readonly FoundCheck[] {
  const newest = newestBy(statuses, ({ context }) => [context]);
  return newest.map(({ context, state, status, target_url: url }) => {
    const said = textIn(state ?? status); // Gitea
    const known = Object.hasOwn(STATUSES, said) ? STATUSES[said] : undefined;
    return found({ name: context, state: known ?? "red", said, url, isSettable: true });
  });
}

function found({ name, state, said, url, isSettable = false }: {
  readonly name: unknown;
  readonly state: CheckState;
  readonly said: unknown;
  readonly url?: unknown;
  readonly isSettable?: boolean;
}): FoundCheck {
  return { name: nameOf(name), state, said: nameOf(said), url: pageIn(url), isSettable };
}
