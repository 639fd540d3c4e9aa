/**
 * What has looked at a commit at GitHub: check runs, check suites without any, and statuses. Gitea and
 * Forgejo have statuses only; their Actions set them.
 *
 * @module
 */

import type { CheckState } from "../../base/forge_names.ts";
import { type JsonObject, textIn } from "../../base/json.ts";
import { apiUrlOf } from "../../resources/connection.ts";
import type { ForgeChecks, FoundCheck, RepositoryHost } from "../api/forge.ts";
import { itemsOf, newestBy } from "../api/item_lists.ts";
import { checksOfSuites, foundCheck, newerSuites } from "./check_suites.ts";
import type { RestFailure } from "../api/rest.ts";
import { isGitea } from "./hooks.ts";

/** Pages of one list, and check runs on a page: each holds texts of up to 128 KiB. */
const PAGES = { pages: 20, withinMs: 60_000 };
const MAX_BYTES = 32 * 1024 * 1024;
const RUNS = 50;

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
      const asRuns = { ...ofCommit, member: "check_runs" };
      const runs = await itemsOf(`${commit}/check-runs?per_page=${RUNS}`, asRuns) ?? [];
      const newer = newerSuites(await workflowRuns(sha));
      return [...checksOfSuites(suites, { runs, newer, own }), ...found];
    },
  };

  /** The runs of GitHub Actions for a commit; none for a token that may not see them. */
  async function workflowRuns(sha: string): Promise<readonly JsonObject[]> {
    const first = `${path}/actions/runs?head_sha=${sha}&per_page=100`;
    const asRuns = { ...reading, member: "workflow_runs", isAbsent: isHidden };
    return await itemsOf(first, asRuns) ?? [];
  }
}

const isNoCommit = ({ status }: RestFailure) => status === 404 || status === 422;
const isHidden = ({ kind, status }: RestFailure) =>
  kind === "refused" && (status === 403 || status === 404);

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
    return foundCheck({ name: context, state: known ?? "red", said, url, isSettable: true });
  });
}
