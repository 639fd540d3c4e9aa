/**
 * What has looked at a commit at GitLab: the jobs of its pipelines, and statuses from outside, which
 * GitLab lists together.
 *
 * @module
 */

import type { CheckState } from "../../base/forge_names.ts";
import { type JsonObject, objectIn, textIn } from "../../base/json.ts";
import { type ForgeChecks, type FoundCheck, mustBeOk, type RepositoryHost } from "../api/forge.ts";
import { pagesOf } from "../api/pages.ts";
import { nameOf } from "../api/platform_name.ts";
import { pageIn } from "../api/repository_reads.ts";
import type { RestData } from "../api/rest.ts";
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
  return {
    async checksOf(sha) {
      const jobs = await itemsOf(`${path}/repository/commits/${sha}/statuses?per_page=100`);
      if (jobs === undefined || jobs.length > 0) return jobs && newestOf(jobs, "name").map(toCheck);
      // A pipeline whose configuration is wrong has failed, and has no jobs.
      const pipelines = await itemsOf(`${path}/pipelines?sha=${sha}&per_page=100`) ?? [];
      return newestOf(pipelines, "source").map((one) =>
        toCheck({ ...one, name: `pipeline ${one["id"]}`, target_url: one["web_url"] })
      );
    },
  };

  /** All items of a list; `undefined` if there is no such commit. */
  async function itemsOf(first: string): Promise<readonly JsonObject[] | undefined> {
    let isGone = false;
    const read = async (path: string): Promise<Partial<RestData>> => {
      const answer = await call({ path });
      isGone = !answer.ok && answer.status === 404;
      return isGone ? {} : mustBeOk(answer);
    };
    const items: JsonObject[] = [];
    for await (const { data } of pagesOf(first, { read, clock, most: PAGES })) {
      items.push(...(Array.isArray(data) ? data.map(objectIn) : []));
    }
    return isGone ? undefined : items;
  }
}

/** The newest of those on the same ref that have the same text in a field. */
function newestOf(items: readonly JsonObject[], field: string): readonly JsonObject[] {
  const newest = new Map<string, JsonObject>();
  for (const item of items) {
    const key = JSON.stringify([item["ref"], item[field]]);
    const known = newest.get(key);
    if (known === undefined || Number(known["id"]) < Number(item["id"])) newest.set(key, item);
  }
  return [...newest.values()];
}

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
