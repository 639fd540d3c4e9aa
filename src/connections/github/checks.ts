/**
 * What has looked at a commit at GitHub: check runs, check suites without any, and statuses. Gitea and
 * Forgejo have statuses only; their Actions set them.
 *
 * @module
 */

import type { CheckState } from "../../base/forge_names.ts";
import { type JsonObject, objectIn, textIn } from "../../base/json.ts";
import { apiUrlOf } from "../../resources/connection.ts";
import { type ForgeChecks, type FoundCheck, mustBeOk, type RepositoryHost } from "../api/forge.ts";
import { pagesOf } from "../api/pages.ts";
import { nameOf } from "../api/platform_name.ts";
import { pageIn } from "../api/repository_reads.ts";
import type { RestData } from "../api/rest.ts";
import { isGitea } from "./hooks.ts";

/** Pages of one list; each check run holds texts of up to 128 KiB. */
const PAGES = { pages: 20, withinMs: 60_000 };
const RUNS = { items: 50, maxBytes: 32 * 1024 * 1024 };

/** What GitHub counts as passed; any other end of a check run, also an unknown one, is red. */
const PASSED: ReadonlySet<unknown> = new Set(["success", "neutral", "skipped"]);

/** The checks of commits of a repository. */
export function gitHubChecks({ connection, repository, call, clock }: RepositoryHost): ForgeChecks {
  const path = `/repos/${repository}`;
  const isOther = isGitea(apiUrlOf(connection.spec));
  const own = connection.spec.github?.app?.id;
  return {
    async checksOf(sha) {
      const commit = `${path}/commits/${sha}`;
      const statuses = await itemsOf(`${commit}/statuses`);
      if (statuses === undefined) return undefined;
      const found = newestStatuses(statuses);
      if (isOther) return found;
      const suites = await itemsOf(`${commit}/check-suites`, "check_suites");
      if (suites === undefined) return undefined;
      if (suites.length === 0) return found;
      const replaced = await replacedSuites(sha);
      const counted = suites.filter(({ id }) => !replaced.has(id));
      const runs = await itemsOf(`${commit}/check-runs`, "check_runs", RUNS.items) ?? [];
      const bySuite = Map.groupBy(runs, (run) => objectIn(run["check_suite"])["id"]);
      return [
        ...counted.flatMap((suite) =>
          bySuite.get(suite["id"])?.map((run) => checkOfRun(run, own)) ?? checkOfBareSuite(suite)
        ),
        ...found,
      ];
    },
  };

  /** All items of a list, which is the answer or a member of it; `undefined` if there is no such commit. */
  async function itemsOf(
    list: string,
    member?: string,
    items = 100,
  ): Promise<readonly JsonObject[] | undefined> {
    let isGone = false;
    const read = async (path: string): Promise<Partial<RestData>> => {
      const answer = await call({ path, maxBytes: RUNS.maxBytes });
      isGone = !answer.ok && (answer.status === 404 || answer.status === 422);
      return isGone ? {} : mustBeOk(answer);
    };
    const found: JsonObject[] = [];
    for await (const { data } of pagesOf(pageOf(list, items), { read, clock, most: PAGES })) {
      found.push(...listIn(member === undefined ? data : objectIn(data)[member]));
    }
    return isGone ? undefined : found;
  }

  function pageOf(list: string, items: number): string {
    return `${list}?${isOther ? "limit" : "per_page"}=${items}`;
  }

  /**
   * The suites of runs of GitHub Actions that a newer run of the same workflow has replaced: started by
   * the same event on the same branch. A token that may not see runs finds none, so all of them count.
   */
  async function replacedSuites(sha: string): Promise<ReadonlySet<unknown>> {
    const newest = new Map<string, { readonly run: number; readonly suite: unknown }>();
    const replaced = new Set<unknown>();
    const read = async (path: string): Promise<Partial<RestData>> => {
      const answer = await call({ path });
      const isHidden = !answer.ok && answer.kind === "refused" &&
        (answer.status === 403 || answer.status === 404);
      return isHidden ? {} : mustBeOk(answer);
    };
    const first = `${path}/actions/runs?head_sha=${sha}&per_page=100`;
    for await (const { data } of pagesOf(first, { read, clock, most: PAGES })) {
      for (const one of listIn(objectIn(data)["workflow_runs"])) {
        const { id: run, workflow_id: workflow, event, head_branch, check_suite_id: suite } = one;
        if (typeof run !== "number") continue;
        const key = JSON.stringify([workflow, event, head_branch]);
        const known = newest.get(key);
        const isNewer = known === undefined || known.run < run;
        if (known !== undefined) replaced.add(isNewer ? known.suite : suite);
        if (isNewer) newest.set(key, { run, suite });
      }
    }
    return replaced;
  }
}

const listIn = (data: unknown) => Array.isArray(data) ? data.map(objectIn) : [];

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

/** The newest status of each context. */
function newestStatuses(statuses: readonly JsonObject[]): readonly FoundCheck[] {
  const newest = new Map<unknown, JsonObject>();
  for (const status of statuses) {
    const known = newest.get(status["context"]);
    if (known === undefined || Number(known["id"]) < Number(status["id"])) {
      newest.set(status["context"], status);
    }
  }
  return [...newest.values()].map(({ context, state, status, target_url: url }) => {
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
