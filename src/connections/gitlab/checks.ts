/**
 * What has looked at a commit at GitLab: the jobs of its pipelines, and statuses from outside, which
 * GitLab lists together.
 *
 * @module
 */

import type { CheckState } from "../../base/forge_names.ts";
import { type JsonObject, textIn } from "../../base/json.ts";
import type { ForgeChecks, FoundCheck, RepositoryHost } from "../api/forge.ts";
import { itemsOf, newestBy } from "../api/item_lists.ts";
import { nameOf } from "../api/platform_name.ts";
import { pageIn } from "../api/repository_reads.ts";
import type { RestFailure } from "../api/rest.ts";
import { projectPath } from "./gitlab_client.ts";

/** Pages of 100 jobs. */
const PAGES = { pages: 20, withinMs: 60_000 };

/** Any other word is red. One that waits for a person has not ended. */
const STATES: Readonly<Record<string, CheckState>> = {
  success: "green",
  skipped: "green",
  created: "pending",
  waiting_for_resource: "pending",
  waiting_for_callback: "pending",
  preparing: "pending",
  pending: "pending",
  running: "pending",
  canceling: "pending",
  manual: "pending",
  scheduled: "pending",
};
/** Jobs that nobody has to start, or that may fail, once they stand so, do not hold a pipeline up. */
const OPTIONAL: ReadonlySet<string> = new Set(["failed", "canceled", "manual"]);

/** The checks of commits of a project. */
export function gitLabChecks({ repository, call, clock }: RepositoryHost): ForgeChecks {
  const path = projectPath(repository);
  const isAbsent = ({ status }: RestFailure) => status === 404;
  const read = (first: string) => itemsOf(first, { call, clock, most: PAGES, isAbsent });
  return {
    async checksOf(sha) {
      const jobs = await read(`${path}/repository/commits/${sha}/statuses?per_page=100`);
      if (jobs === undefined || jobs.length > 0) {
        return jobs && newestBy(jobs, byRefAnd("name")).map(toCheck);
      }
      // A pipeline whose configuration is wrong has failed, and has no jobs.
      const pipelines = await read(`${path}/pipelines?sha=${sha}&per_page=100`) ?? [];
      return newestBy(pipelines, byRefAnd("source")).map((one) =>
        toCheck({ ...one, name: `pipeline ${one["id"]}`, target_url: one["web_url"] })
      );
    },
  };
}

/** The key of items of which the newest counts: their ref, and a field. */
const byRefAnd = (field: string) => (item: JsonObject) => [item["ref"], item[field]];

function toCheck(
  { name, status, allow_failure: mayFail, target_url: url }: JsonObject,
): FoundCheck {
  const said = textIn(status);
  const known = Object.hasOwn(STATES, said) ? STATES[said] : undefined;
  const isFree = mayFail === true && OPTIONAL.has(said);
  return {
    name: nameOf(name),
    state: isFree ? "green" : known ?? "red",
    said: nameOf(said),
    url: pageIn(url),
    isSettable: typeof url !== "string", // a job has a page, and a status of svc has none
  };
}
