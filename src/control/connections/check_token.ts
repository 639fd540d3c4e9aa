/**
 * Checks a token of GitHub before anything is created with it: its owner, its expiry, and whether
 * it may see the webhooks.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { isRepository } from "../../base/github_names.ts";
import { isJsonObject } from "../../base/json.ts";
import { type ApiAccess, apiError } from "../../connections/api/api_call.ts";
import { callGitHub, mustCall } from "../../connections/github/github_client.ts";
import { tokenEnd } from "../../connections/github/delivery_log.ts";
import { nameOf } from "../../connections/api/platform_name.ts";
import { type Hook, type HookOwner, listHooks, pathOf } from "../../connections/github/hooks.ts";

/** The owner of a token, and what the token may see. */
export interface CheckedToken {
  readonly login: string;
  readonly userId: string;
  /**
   * Milliseconds since the epoch; absent for a token without an end, or if GitHub does not give it.
   */
  readonly endsAt?: number;
  /** The repository or organization as it is written at the platform. */
  readonly owner: HookOwner;
  /** The webhooks of the repository or organization. */
  readonly hooks: readonly Hook[];
}

/**
 * Asks GitHub.
 *
 * @throws {AppError} `refused` with what is wrong: the token, a right it lacks, the name;
 * `overloaded` when a later try may succeed.
 */
export async function checkToken(access: ApiAccess, owner: HookOwner): Promise<CheckedToken> {
  const user = await mustCall(access, { path: "/user" });
  const { login: given, id } = isJsonObject(user.data) ? user.data : {};
  const login = nameOf(given);
  if (login === "") {
    const message = `${access.api} does not answer as GitHub's API does: see --api`;
    throw new AppError("refused", message);
  }
  const { data } = await mustCall(access, { path: pathOf(owner) });
  const found = isJsonObject(data) ? data : {};
  const { full_name: fullName, archived } = found;
  if (archived === true) {
    const message = `${owner.repository} is archived at GitHub: it sends no events`;
    throw new AppError("refused", message);
  }
  const exact = typeof fullName === "string" && isRepository(fullName)
    ? { repository: fullName }
    : owner;
  const endsAt = tokenEnd(user.headers);
  return {
    login,
    userId: typeof id === "number" ? String(id) : "",
    ...defined({ endsAt }),
    owner: exact,
    hooks: await seeHooks(access, exact, login),
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
