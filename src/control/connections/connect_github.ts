/**
 * What is special about `svc connect github`: the token is checked for its owner, its expiry, and
 * whether it may see the webhooks.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { isRepository, PACKAGE_EVENTS } from "../../base/github_names.ts";
import { isJsonObject } from "../../base/json.ts";
import { type ApiAccess, apiError } from "../../connections/api/api_call.ts";
import type { Hook } from "../../connections/api/hooks.ts";
import { nameOf } from "../../connections/api/platform_name.ts";
import { tokenEnd } from "../../connections/github/delivery_log.ts";
import { gitHubHooks } from "../../connections/github/forge_hooks.ts";
import { callGitHub, mustCall } from "../../connections/github/github_client.ts";
import { type HookOwner, isGitea, listHooks, pathOf } from "../../connections/github/hooks.ts";
import type { ConnectionSpec } from "../../resources/connection.ts";
import type { CheckedToken, ForgeConnecting, ForgePlan } from "./connect_forge.ts";
import { newSecret } from "./connect_manifests.ts";

/** Connects a repository or an organization. */
export function connectingGitHub(asked: HookOwner): ForgeConnecting {
  return {
    forge: "github",
    packageEvents: PACKAGE_EVENTS,
    newSecret,
    whyNot,
    check: (plan, access) => check(plan, access, asked),
  };
}

function whyNot({ name, known, api, events }: ForgePlan): string | undefined {
  if (known?.spec.github?.app !== undefined) {
    return `Connection "${name}" is to an app: run svc connect github --app, or give this ` +
      "one another name with --name";
  }
  if (events !== "pull" || !isGitea(api)) return undefined;
  return "Gitea and Forgejo keep no log of what they sent, so --pull cannot read it: give the " +
    "address at which they reach the daemon with --url";
}

async function check(
  plan: ForgePlan,
  access: ApiAccess,
  asked: HookOwner,
): Promise<CheckedToken> {
  const user = await mustCall(access, { path: "/user" });
  const { login: given, id } = isJsonObject(user.data) ? user.data : {};
  const login = nameOf(given);
  if (login === "") {
    const message = `${access.api} does not answer as GitHub's API does: see --api`;
    throw new AppError("refused", message);
  }
  const { data } = await mustCall(access, { path: pathOf(asked) });
  const found = isJsonObject(data) ? data : {};
  const { full_name: fullName, archived } = found;
  if (archived === true) {
    const message = `${asked.repository} is archived at GitHub: it sends no events`;
    throw new AppError("refused", message);
  }
  const owner = typeof fullName === "string" && isRepository(fullName)
    ? { repository: fullName }
    : asked;
  const endsAt = tokenEnd(user.headers);
  const known = await seeHooks(access, owner, login);
  return {
    login,
    userId: typeof id === "number" ? String(id) : "",
    ...defined({ endsAt }),
    spec: specOf(plan, { ...asked, ...owner }),
    places: [{ hooks: gitHubHooks(access, owner), known }],
    notes: [],
  };
}

/**
 * Lists the webhooks. GitHub answers "not found" for what a token may not see, so further requests
 * tell a missing right from a wrong name.
 */
async function seeHooks(access: ApiAccess, owner: HookOwner, login: string): Promise<Hook[]> {
  const answer = await callGitHub(access, { path: `${pathOf(owner)}/hooks?per_page=1` });
  if (answer.ok) return await listHooks(access, owner);
  if (answer.status !== 404) throw apiError(answer);
  const what = owner.repository ?? owner.organization ?? "";
  const [right, scope] = owner.repository === undefined
    ? ["Organization webhooks: read and write", "admin:org_hook"]
    : ["Webhooks: read and write", "admin:repo_hook"];
  const message = `The token of ${login} sees ${what} but not its webhooks: it needs the ` +
    `permission "${right}" (a classic token: ${scope}), and ${login} must be an administrator of ${what}`;
  throw new AppError("refused", message);
}

function specOf(
  { known, api, events, tokenAt }: ForgePlan,
  { repository, organization }: HookOwner,
): ConnectionSpec {
  const github = {
    ...known?.spec.github,
    ...defined({ repository, organization }),
    ...(api === "https://api.github.com" ? {} : { api }),
    token: { fromSecret: tokenAt },
    ...(events === "push" && known?.spec.github?.events === undefined ? {} : { events }),
  };
  return { ...known?.spec, github };
}
