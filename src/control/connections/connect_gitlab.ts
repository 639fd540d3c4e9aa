/**
 * What is special about `svc connect gitlab`: the token is checked for its scope, its end and the role of
 * its user, and a group without webhooks of its own gets one in each of its projects.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { isProject, PACKAGE_EVENTS } from "../../base/gitlab_names.ts";
import { objectIn, textIn } from "../../base/json.ts";
import { type ApiAccess, apiError } from "../../connections/api/api_call.ts";
import type { Hook } from "../../connections/api/hooks.ts";
import { nameOf } from "../../connections/api/platform_name.ts";
import { callGitLab, listAll, mustCall } from "../../connections/gitlab/gitlab_client.ts";
import {
  gitLabHooks,
  type GitLabOwner,
  newSigningToken,
  ownerPath,
} from "../../connections/gitlab/hooks.ts";
import type { ConnectionSpec } from "../../resources/connection.ts";
import type { CheckedToken, ForgeConnecting, ForgePlan, HookPlace } from "./connect_forge.ts";

/** Most projects of a group that get a webhook each. */
const MAX_PROJECTS = 100;

/** Connects a project or a group. */
export function connectingGitLab(asked: GitLabOwner): ForgeConnecting {
  return {
    forge: "gitlab",
    packageEvents: PACKAGE_EVENTS,
    unsigned: "this GitLab does not sign what it sends (before version 19.0): triggers with from " +
      "start nothing, because only a signature tells who has caused an event",
    newSecret: newSigningToken,
    whyNot: () => undefined,
    check: (plan, access) => check(plan, access, asked),
  };
}

/** The user of a token, and its end. */
interface TokenFacts {
  readonly login: string;
  readonly userId: string;
  readonly endsAt?: number;
}

async function check(
  plan: ForgePlan,
  access: ApiAccess,
  asked: GitLabOwner,
): Promise<CheckedToken> {
  const facts = await tokenFacts(access);
  const { data } = await mustCall(access, { path: ownerPath(asked) });
  const { path_with_namespace: path, archived } = objectIn(data);
  if (archived === true) {
    throw new AppError("refused", `${asked.project} is archived at GitLab: it sends no events`);
  }
  const isExact = asked.project !== undefined && isProject(textIn(path)) &&
    textIn(path).toLowerCase() === asked.project.toLowerCase();
  const owner = isExact ? { project: textIn(path) } : asked;
  const { places, notes } = owner.group === undefined
    ? { places: [await placeOf(access, owner, facts.login)], notes: [] }
    : await placesOfGroup(access, owner.group, facts.login);
  return { ...facts, spec: specOf(plan, owner), places, notes };
}

async function tokenFacts(access: ApiAccess): Promise<TokenFacts> {
  const user = objectIn((await mustCall(access, { path: "/user" })).data);
  const login = nameOf(user["username"]);
  if (login === "") {
    throw new AppError("refused", `${access.api} does not answer as GitLab's API does: see --api`);
  }
  const answer = await callGitLab(access, { path: "/personal_access_tokens/self" });
  // An OAuth token is none of these, and an earlier version does not know the path.
  if (!answer.ok && answer.status !== 404 && answer.status !== 400) throw apiError(answer);
  const { scopes, expires_at: end } = answer.ok ? objectIn(answer.data) : {};
  if (Array.isArray(scopes) && !scopes.includes("api")) {
    const has = scopes.filter((scope) => typeof scope === "string").join(", ").slice(0, 200);
    const message = `The token of ${login} has the scope ${has === "" ? "none" : has}: make one ` +
      "with the scope api";
    throw new AppError("refused", message);
  }
  const endsAt = Date.parse(textIn(end));
  const { id } = user;
  return {
    login,
    userId: typeof id === "number" ? String(id) : "",
    ...(Number.isNaN(endsAt) ? {} : { endsAt }),
  };
}

/** The webhooks of a project. GitLab answers "not found" or "forbidden" without the role. */
async function placeOf(
  access: ApiAccess,
  owner: GitLabOwner,
  login: string,
): Promise<HookPlace> {
  const known = await findHooks(access, owner);
  const hooks = gitLabHooks(access, owner);
  if (known !== undefined) return { hooks, known };
  const message =
    `The token of ${login} sees ${owner.project} but not its webhooks: ${login} must ` +
    "have the role Maintainer there (a project or group access token gets its role when it is made)";
  throw new AppError("refused", message);
}

/** The webhooks of an owner; `undefined` if the token may not see them, or there cannot be any. */
async function findHooks(
  access: ApiAccess,
  owner: GitLabOwner,
): Promise<readonly Hook[] | undefined> {
  const answer = await callGitLab(access, { path: `${ownerPath(owner)}/hooks?per_page=1` });
  if (answer.ok) return await gitLabHooks(access, owner).list();
  if (answer.status === 403 || answer.status === 404) return undefined;
  throw apiError(answer);
}

async function placesOfGroup(
  access: ApiAccess,
  group: string,
  login: string,
): Promise<Pick<CheckedToken, "places" | "notes">> {
  const known = await findHooks(access, { group });
  if (known !== undefined) {
    return { places: [{ hooks: gitLabHooks(access, { group }), known }], notes: [] };
  }
  const path = `${ownerPath({ group })}/projects?include_subgroups=true&archived=false` +
    "&with_shared=false&per_page=100";
  const projects: string[] = [];
  for await (const item of listAll(access, path)) {
    const project = textIn(objectIn(item)["path_with_namespace"]);
    if (isProject(project)) projects.push(project);
    if (projects.length > MAX_PROJECTS) {
      const message =
        `${group} has no webhooks of its own for ${login} (that needs GitLab Premium ` +
        `and the role Owner), and more than ${MAX_PROJECTS} projects: connect them one by one`;
      throw new AppError("refused", message);
    }
  }
  if (projects.length === 0) {
    throw new AppError("refused", `${group} has no projects that the token of ${login} sees`);
  }
  const places: HookPlace[] = [];
  for (const project of projects) {
    places.push({ project, ...await placeOf(access, { project }, login) });
  }
  const note =
    `${group} has no webhooks of its own for ${login} (that needs GitLab Premium and the ` +
    `role Owner): each of its ${projects.length} projects has one. Run this again after a project ` +
    "is added";
  return { places, notes: [note] };
}

function specOf(
  { known, api, tokenAt }: ForgePlan,
  { project, group }: GitLabOwner,
): ConnectionSpec {
  const gitlab = {
    ...known?.spec.gitlab,
    ...defined({ project, group }),
    ...(api === "https://gitlab.com/api/v4" ? {} : { api }),
    token: { fromSecret: tokenAt },
  };
  return { ...known?.spec, gitlab };
}
