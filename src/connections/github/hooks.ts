/**
 * Webhooks at GitHub: svc finds them by their address, makes those that are missing, and corrects
 * those that were changed.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { isOrganization, isRepository } from "../../base/github_names.ts";
import { isJsonObject, type JsonObject, textIn } from "../../base/json.ts";
import type { GitHubSpec } from "../../resources/connection.ts";
import { type ApiAccess, apiError } from "../api/api_call.ts";
import { type EnsuredHook, type Hook, type HookSettings, isSameUrl } from "../api/hooks.ts";
import { callGitHub, listAll, mustCall } from "./github_client.ts";
import type { RestFailure } from "../api/rest.ts";
import { EndlessListError } from "../api/pages.ts";

/** The owner of a webhook: exactly one of the three. */
export interface HookOwner {
  readonly repository?: string | undefined;
  readonly organization?: string | undefined;
  /** The App whose token asks: it has one webhook for all repositories. */
  readonly app?: boolean;
}

/** The owner of the webhooks of a Connection. */
export function hookOwnerOf({ app, repository, organization }: GitHubSpec): HookOwner {
  return app === undefined ? { repository, organization } : { app: true };
}

/** Path of a webhook. */
export function hookPath(owner: HookOwner, id: number): string {
  return owner.app === true ? "/app/hook" : `${pathOf(owner)}/hooks/${id}`;
}

/**
 * `/repos/OWNER/NAME` or `/orgs/NAME`.
 *
 * @throws {AppError} `refused` for a name that would lead elsewhere.
 */
export function pathOf({ repository, organization }: HookOwner): string {
  if (repository !== undefined && isRepository(repository)) return `/repos/${repository}`;
  if (organization !== undefined && isOrganization(organization)) return `/orgs/${organization}`;
  // Only a manifest of an earlier version or an answer of GitHub can hold such a name.
  const message = `"${repository ?? organization}" is not the name of a repository or an ` +
    "organization";
  throw new AppError("refused", message);
}

/** Whether an API belongs to Gitea or Forgejo, which differ from GitHub in places. */
export function isGitea(api: string): boolean {
  return api.endsWith("/api/v1");
}

/** URL of the page of a webhook for people. */
export function hookPage(api: string, owner: HookOwner, id: number): string {
  const { origin } = new URL(api);
  const site = origin === "https://api.github.com" ? "https://github.com" : origin;
  const place = owner.repository ?? `organizations/${owner.organization}`;
  return `${site}/${place}/settings/hooks/${id}`;
}

/** Path of the settings of the webhook of an App. */
const APP_HOOK = "/app/hook/config";

/** The webhook of an App, which has the events of its registration and is always on. */
function toAppHook(id: number, config: unknown): Hook | undefined {
  return toHook({ id, config, active: true, events: [] });
}

/**
 * Sets address and secret of the webhook of an App, if another address is set or `anew` is true.
 *
 * @throws {AppError} as {@linkcode listHooks}.
 */
export async function ensureAppHook(
  access: ApiAccess,
  { id, wanted, anew }: {
    readonly id: number;
    readonly wanted: Pick<HookSettings, "url" | "secret">;
    readonly anew: boolean;
  },
): Promise<EnsuredHook> {
  const { data } = await mustCall(access, { path: APP_HOOK });
  const existing = toAppHook(id, data);
  if (existing === undefined) throw noHook();
  const changes = differences(existing, { ...wanted, events: [] });
  const { secret } = wanted;
  if (changes.length === 0 && !anew) {
    return { hook: existing, action: "unchanged", changes, secret };
  }
  const body = configOf(wanted);
  const set = toAppHook(
    id,
    (await mustCall(access, { method: "PATCH", path: APP_HOOK, body })).data,
  );
  if (set === undefined) throw noHook();
  return {
    hook: set,
    action: "configured",
    changes: [...changes, ...(anew ? ["its secret"] : [])],
    secret,
  };
}

/** Most webhooks that are read: far more than GitHub allows. */
const MAX_HOOKS = 1000;

/**
 * All webhooks of a repository or an organization.
 *
 * @throws {AppError} `refused` with the missing right, `overloaded` if a later try may succeed.
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

/** The webhook with an id; `undefined` if it no longer exists. */
export async function findHook(
  access: ApiAccess,
  owner: HookOwner,
  id: number,
): Promise<Hook | undefined | RestFailure> {
  const path = owner.app === true ? APP_HOOK : hookPath(owner, id);
  const answer = await callGitHub(access, { path });
  if (answer.ok && owner.app === true) return toAppHook(id, answer.data);
  if (answer.ok) return toHook(answer.data);
  return answer.status === 404 ? undefined : answer;
}

/**
 * Creates a webhook, or corrects it.
 *
 * @param known The webhooks that exist.
 * @param id Id that the webhook got when it was made; its address may have changed since.
 * @throws {AppError} as {@linkcode listHooks}.
 */
export async function ensureHook(
  access: ApiAccess,
  owner: HookOwner,
  { wanted, known, id }: {
    readonly wanted: HookSettings;
    readonly known: readonly Hook[];
    readonly id?: number | undefined;
  },
): Promise<EnsuredHook> {
  const { secret } = wanted;
  const existing = known.find((hook) => hook.id === id) ??
    known.find(({ url }) => isSameUrl(url, wanted.url));
  if (existing === undefined) {
    const body = {
      name: "web",
      ...defined({ type: isGitea(access.api) ? "gitea" : undefined }),
      active: true,
      events: [...wanted.events],
      config: configOf(wanted),
    };
    const { data } = await mustCall(access, {
      method: "POST",
      path: `${pathOf(owner)}/hooks`,
      body,
    });
    return { hook: readHook(data), action: "created", changes: [], secret };
  }
  const changes = differences(existing, wanted);
  if (changes.length === 0) return { hook: existing, action: "unchanged", changes, secret };
  const hook = await setHook(access, owner, { hook: existing, wanted });
  return { hook, action: "configured", changes, secret };
}

/**
 * Sets all settings of a webhook, its secret too.
 *
 * @throws {AppError} as {@linkcode listHooks}.
 */
export async function setHook(
  access: ApiAccess,
  owner: HookOwner,
  { hook, wanted }: { readonly hook: Hook; readonly wanted: HookSettings },
): Promise<Hook> {
  const events = [...new Set([...hook.events, ...wanted.events])];
  const { data } = await mustCall(access, {
    method: "PATCH",
    path: `${pathOf(owner)}/hooks/${hook.id}`,
    body: { active: true, events, config: configOf(wanted) },
  });
  return readHook(data);
}

/**
 * Deletes a webhook; `gone` if it did not exist any more.
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
 * Has GitHub send a `ping`. Gitea and Forgejo have no ping and send the last push again.
 *
 * @throws {AppError} as {@linkcode listHooks}.
 */
export async function ping(access: ApiAccess, owner: HookOwner, id: number): Promise<void> {
  const what = isGitea(access.api) ? "tests" : "pings";
  await mustCall(access, { method: "POST", path: `${pathOf(owner)}/hooks/${id}/${what}` });
}

function configOf({ url, secret }: Pick<HookSettings, "url" | "secret">): JsonObject {
  return { url, content_type: "json", insecure_ssl: "0", secret };
}

/** The settings of a webhook that are wrong, each as a part of a sentence. */
function differences(hook: Hook, { url, events }: Pick<HookSettings, "url" | "events">): string[] {
  const missing = hook.events.includes("*")
    ? []
    : events.filter((event) => !hook.events.includes(event));
  return [
    ...(isSameUrl(hook.url, url) ? [] : [`its address was ${hook.url}`]),
    ...hook.faults,
    ...(missing.length === 0 ? [] : [`it did not send ${missing.join(", ")}`]),
  ];
}

function readHook(data: unknown): Hook {
  const hook = toHook(data);
  if (hook !== undefined) return hook;
  throw noHook();
}

function noHook(): AppError {
  return new AppError("refused", "The server did not return the webhook that it created");
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
    events: Array.isArray(events) ? events.filter((event) => typeof event === "string") : [],
    faults: [
      ...(active === true ? [] : ["it was switched off"]),
      ...(contentType === "json" ? [] : [`its content type was "${textIn(contentType)}"`]),
      ...(insecure === "1" || insecure === 1 ? ["it did not check certificates"] : []),
    ],
  };
}
