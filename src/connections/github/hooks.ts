/**
 * Webhooks at GitHub: found again by their address, made where they are missing, put right where
 * somebody has changed them.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { isOrganization, isRepository } from "../../base/github_names.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { type ApiAccess, apiError } from "../api/api_call.ts";
import { callGitHub, type GitHubFailure, listAll, mustCall } from "./github_client.ts";
import { EndlessListError } from "./pages.ts";

/** What a webhook belongs to: exactly one of them is there. */
export interface HookOwner {
  readonly repository?: string | undefined;
  readonly organization?: string | undefined;
}

/** A webhook as GitHub shows it; its secret never is. */
export interface Hook {
  readonly id: number;
  readonly url: string;
  readonly active: boolean;
  readonly events: readonly string[];
  readonly contentType: string;
  /** Whether certificates are not checked. */
  readonly insecure: boolean;
}

/** A webhook as it has to be. */
export interface WantedHook {
  readonly url: string;
  readonly secret: string;
  /** Events that it has to send; others that somebody has added stay. */
  readonly events: readonly string[];
}

/** What became of a webhook. */
export interface EnsuredHook {
  readonly hook: Hook;
  /** `changed` where it was there and not as it has to be. */
  readonly action: "created" | "configured" | "unchanged";
  /** What was put right, one part of a sentence each. */
  readonly changes: readonly string[];
}

/**
 * `/repos/OWNER/NAME` or `/orgs/NAME`.
 *
 * @throws {AppError} `refused` for a name that would lead elsewhere.
 */
export function pathOf({ repository, organization }: HookOwner): string {
  if (repository !== undefined && isRepository(repository)) return `/repos/${repository}`;
  if (organization !== undefined && isOrganization(organization)) return `/orgs/${organization}`;
  // Only the manifest of an earlier version, or an answer, has one.
  const message = `"${repository ?? organization}" is not the name of a repository or an ` +
    "organization";
  throw new AppError("refused", message);
}

/** Whether an API is that of Gitea or Forgejo, which differ from GitHub here and there. */
export function isGitea(api: string): boolean {
  return api.endsWith("/api/v1");
}

/** Page on which people see a webhook. */
export function hookPage(api: string, owner: HookOwner, id: number): string {
  const { origin } = new URL(api);
  const site = origin === "https://api.github.com" ? "https://github.com" : origin;
  const place = owner.repository ?? `organizations/${owner.organization}`;
  return `${site}/${place}/settings/hooks/${id}`;
}

/** Far more than GitHub lets anybody have. */
const MAX_HOOKS = 1000;

/**
 * All webhooks of a repository or an organization.
 *
 * @throws {AppError} `refused` with the missing right, `overloaded` where another time may go well.
 */
export async function listHooks(access: ApiAccess, owner: HookOwner): Promise<Hook[]> {
  const hooks: Hook[] = [];
  for await (const item of listAll(access, `${pathOf(owner)}/hooks?per_page=100`)) {
    const hook = toHook(item);
    if (hook !== undefined) hooks.push(hook);
    if (hooks.length > MAX_HOOKS) {
      throw new EndlessListError(`There are more than ${MAX_HOOKS} webhooks`);
    }
  }
  return hooks;
}

/** One webhook; `undefined` when it is gone. */
export async function findHook(
  access: ApiAccess,
  owner: HookOwner,
  id: number,
): Promise<Hook | undefined | GitHubFailure> {
  const answer = await callGitHub(access, { path: `${pathOf(owner)}/hooks/${id}` });
  if (answer.ok) return toHook(answer.data);
  return answer.status === 404 ? undefined : answer;
}

/**
 * Sees to it that the webhook is there as it has to be.
 *
 * @param known Webhooks that are there.
 * @param id The one it was when it was made; its address may be another one since then.
 * @throws {AppError} as {@linkcode listHooks}.
 */
export async function ensureHook(
  access: ApiAccess,
  owner: HookOwner,
  { wanted, known, id }: {
    readonly wanted: WantedHook;
    readonly known: readonly Hook[];
    readonly id?: number | undefined;
  },
): Promise<EnsuredHook> {
  const found = known.find((hook) => hook.id === id) ??
    known.find(({ url }) => sameUrl(url, wanted.url));
  if (found === undefined) {
    const body = {
      name: "web",
      ...(isGitea(access.api) ? { type: "gitea" } : {}),
      active: true,
      events: [...wanted.events],
      config: configOf(wanted),
    };
    const { data } = await mustCall(access, {
      method: "POST",
      path: `${pathOf(owner)}/hooks`,
      body,
    });
    return { hook: made(data), action: "created", changes: [] };
  }
  const changes = differences(found, wanted);
  if (changes.length === 0) return { hook: found, action: "unchanged", changes };
  return {
    hook: await setHook(access, owner, { hook: found, wanted }),
    action: "configured",
    changes,
  };
}

/**
 * Sets everything of a webhook, its secret too.
 *
 * @throws {AppError} as {@linkcode listHooks}.
 */
export async function setHook(
  access: ApiAccess,
  owner: HookOwner,
  { hook, wanted }: { readonly hook: Hook; readonly wanted: WantedHook },
): Promise<Hook> {
  const events = [...new Set([...hook.events, ...wanted.events])];
  const { data } = await mustCall(access, {
    method: "PATCH",
    path: `${pathOf(owner)}/hooks/${hook.id}`,
    body: { active: true, events, config: configOf(wanted) },
  });
  return made(data);
}

/**
 * Deletes a webhook; one that is gone already is none the less deleted.
 *
 * @throws {AppError} as {@linkcode listHooks}.
 */
export async function deleteHook(
  access: ApiAccess,
  owner: HookOwner,
  id: number,
): Promise<"deleted" | "gone"> {
  const path = `${pathOf(owner)}/hooks/${id}`;
  const answer = await callGitHub(access, { method: "DELETE", path });
  if (answer.ok) return "deleted";
  if (answer.status === 404 || answer.status === 410) return "gone";
  throw apiError(answer);
}

/**
 * Has GitHub send a `ping`; Gitea and Forgejo have none and send the last push again.
 *
 * @throws {AppError} as {@linkcode listHooks}.
 */
export async function ping(access: ApiAccess, owner: HookOwner, id: number): Promise<void> {
  const what = isGitea(access.api) ? "tests" : "pings";
  await mustCall(access, { method: "POST", path: `${pathOf(owner)}/hooks/${id}/${what}` });
}

function configOf({ url, secret }: WantedHook): JsonObject {
  return { url, content_type: "json", insecure_ssl: "0", secret };
}

/** What of a webhook is not as it has to be. */
function differences(hook: Hook, { url, events }: WantedHook): string[] {
  const missing = hook.events.includes("*")
    ? []
    : events.filter((event) => !hook.events.includes(event));
  return [
    ...(sameUrl(hook.url, url) ? [] : [`its address was ${hook.url}`]),
    ...(hook.active ? [] : ["it was switched off"]),
    ...(hook.contentType === "json" ? [] : [`its content type was "${hook.contentType}"`]),
    ...(hook.insecure ? ["it did not check certificates"] : []),
    ...(missing.length === 0 ? [] : [`it did not send ${missing.join(", ")}`]),
  ];
}

function sameUrl(one: string, other: string): boolean {
  return (URL.parse(one)?.href ?? one) === (URL.parse(other)?.href ?? other);
}

function made(data: unknown): Hook {
  const hook = toHook(data);
  if (hook !== undefined) return hook;
  throw new AppError("refused", "The server did not return the webhook that it created");
}

function toHook(data: unknown): Hook | undefined {
  if (!isJsonObject(data) || typeof data["id"] !== "number") return undefined;
  const { id, active, events, config } = data;
  const { url, content_type: contentType, insecure_ssl: insecure } = isJsonObject(config)
    ? config
    : {};
  return {
    id,
    url: typeof url === "string" ? url : "",
    active: active === true,
    events: Array.isArray(events) ? events.filter((event) => typeof event === "string") : [],
    contentType: typeof contentType === "string" ? contentType : "",
    insecure: insecure === "1" || insecure === 1,
  };
}
