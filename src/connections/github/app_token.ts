/**
 * Tokens of an App of GitHub: where it is installed, and a token for one repository and the rights of
 * one purpose.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { isJsonObject } from "../../base/json.ts";
import { isOrganization, isRepository } from "../../base/github_names.ts";
import { type ApiAccess, apiError } from "../api/api_call.ts";
import { callGitHub, listAll, mustCall } from "./github_client.ts";
import { lackedRights, readRights, type Rights, rightsText } from "./app_rights.ts";

/** An installation of an App on an account. */
export interface Installation {
  readonly id: number;
  /** Login of the user or organization. */
  readonly account: string;
  readonly isSuspended: boolean;
  readonly rights: Rights;
  /** Whether it is on all repositories of the account. */
  readonly all: boolean;
}

/** A token of an installation. */
export interface InstallationToken {
  readonly token: string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly endsAt: number;
}

/** Most installations that are read. */
const MAX_INSTALLATIONS = 500;

/**
 * Everything that an App is installed on.
 *
 * @param access Access as the App itself.
 * @throws {AppError} `refused`, `overloaded`.
 */
export async function listInstallations(access: ApiAccess): Promise<readonly Installation[]> {
  const all: Installation[] = [];
  for await (const item of listAll(access, "/app/installations?per_page=100")) {
    const one = toInstallation(item);
    if (one !== undefined) all.push(one);
    if (all.length >= MAX_INSTALLATIONS) break;
  }
  return all;
}

/** The installation on a repository; `undefined` if there is none. */
export async function findInstallation(
  access: ApiAccess,
  repository: string,
): Promise<Installation | undefined> {
  if (!isRepository(repository)) {
    throw new AppError("refused", `"${repository}" is not the name of a repository`);
  }
  const path = `/repos/${repository}/installation`;
  const answer = await callGitHub(access, { path });
  if (!answer.ok && answer.status === 404) return undefined;
  if (!answer.ok) throw apiError(answer);
  return toInstallation(answer.data) ?? fail("The server did not say which installation it is");
}

/**
 * A token for one repository with these rights and no others.
 *
 * @param access Access as the App itself.
 * @throws {AppError} `refused`, also if the token is for more than was asked for; `overloaded`.
 */
export async function makeInstallationToken(
  access: ApiAccess,
  { installation, repository, rights }: {
    readonly installation: number;
    readonly repository: string;
    readonly rights: Rights;
  },
): Promise<InstallationToken> {
  const [, name = ""] = repository.split("/");
  const permissions = rights;
  const { data } = await mustCall(access, {
    method: "POST",
    path: `/app/installations/${installation}/access_tokens`,
    body: { repositories: [name], permissions },
  });
  const given = isJsonObject(data) ? data : {};
  const { token, expires_at: end, repositories } = given;
  const endsAt = typeof end === "string" ? Date.parse(end) : NaN;
  if (typeof token !== "string" || !/^[!-~]+$/.test(token) || Number.isNaN(endsAt)) {
    fail("The server gave no token");
  }
  // A server that does not know these fields would give a token for everything.
  const more = lackedRights(readRights(given["permissions"]), { metadata: "read", ...rights });
  if (!isJsonObject(given["permissions"]) || Object.keys(more).length > 0) {
    fail(`The server gave a token with more rights than were asked for (${rightsText(more)})`);
  }
  const [only, ...others] = Array.isArray(repositories) ? repositories : [];
  const named = isJsonObject(only) ? only["full_name"] : undefined;
  const isOne = typeof named === "string" && named.toLowerCase() === repository.toLowerCase();
  if (!isOne || others.length > 0) {
    fail(`The server gave a token that is not for ${repository} alone`);
  }
  return { token, endsAt };
}

function toInstallation(item: unknown): Installation | undefined {
  if (!isJsonObject(item) || typeof item["id"] !== "number") return undefined;
  const { id, account, suspended_at: suspended, permissions, repository_selection: on } = item;
  const login = isJsonObject(account) ? account["login"] : undefined;
  return {
    id,
    account: typeof login === "string" && isOrganization(login) ? login : "",
    isSuspended: suspended !== null && suspended !== undefined,
    rights: readRights(permissions),
    all: on === "all",
  };
}

function fail(message: string): never {
  throw new AppError("refused", message);
}
