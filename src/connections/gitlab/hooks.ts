/**
 * Webhooks at GitLab, of a project or a group. Each gets two secrets: a signing token, with which GitLab
 * signs from version 19 on, and a token that earlier ones send as it is. svc keeps only the one that
 * verifies: where GitLab signs, a request with the mere token is refused.
 *
 * @module
 */

import { toBase64 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import { HOOK_EVENTS, isGroup, isProject } from "../../base/gitlab_names.ts";
import { isJsonObject, type JsonObject, textIn } from "../../base/json.ts";
import { type ApiAccess, apiError } from "../api/api_call.ts";
import {
  type EnsuredHook,
  type ForgeHooks,
  type Hook,
  type HookOff,
  type HookSettings,
  isSameUrl,
} from "../api/hooks.ts";
import { EndlessListError } from "../api/pages.ts";
import type { RestFailure } from "../api/rest.ts";
import { callGitLab, listAll, mustCall } from "./gitlab_client.ts";
import { gitLabLog } from "./hook_log.ts";

/** The owner of a webhook: exactly one of the two. */
export interface GitLabOwner {
  readonly project?: string | undefined;
  readonly group?: string | undefined;
}

/** Most webhooks that are read: GitLab allows 100 of a project. */
const MAX_HOOKS = 1000;

/** The webhooks of a project or a group. */
export function gitLabHooks(access: ApiAccess, owner: GitLabOwner): ForgeHooks {
  const all = `${ownerPath(owner)}/hooks`;
  const pathOf = (id: number) => `${all}/${id}`;
  const set = async (existing: Hook | undefined, wanted: HookSettings): Promise<EnsuredHook> => {
    const signs = isSigningToken(wanted.secret);
    const signing = signs ? wanted.secret : newSigningToken();
    const token = signs ? newToken() : wanted.secret;
    const { data } = await mustCall(access, {
      method: existing === undefined ? "POST" : "PUT",
      path: existing === undefined ? all : pathOf(existing.id),
      body: {
        url: wanted.url,
        token,
        signing_token: signing,
        enable_ssl_verification: true,
        custom_webhook_template: "",
        ...switchesOf(wanted, existing),
      },
    });
    const hook = toHook(data);
    if (hook === undefined) {
      throw new AppError("refused", "The server did not return the webhook that it has set");
    }
    const action = existing === undefined ? "created" : "configured";
    // A server that knows no signing tokens has ignored it.
    return { hook, action, changes: [], secret: hook.isSigned === true ? signing : token };
  };
  return {
    title: "GitLab",
    async list() {
      const hooks: Hook[] = [];
      for await (const item of listAll(access, `${all}?per_page=100`)) {
        const hook = toHook(item);
        if (hook !== undefined) hooks.push(hook);
        if (hooks.length > MAX_HOOKS) {
          throw new EndlessListError(`There are more than ${MAX_HOOKS} webhooks`);
        }
      }
      return hooks;
    },
    async find(id): Promise<Hook | undefined | RestFailure> {
      const answer = await callGitLab(access, { path: pathOf(id) });
      if (answer.ok) return toHook(answer.data);
      return answer.status === 404 ? undefined : answer;
    },
    async ensure({ wanted, known, id }) {
      const existing = known.find((hook) => hook.id === id) ??
        known.find(({ url }) => isSameUrl(url, wanted.url));
      if (existing === undefined) return await set(undefined, wanted);
      const changes = differences(existing, wanted);
      if (changes.length > 0) return { ...await set(existing, wanted), changes };
      const unchanged: EnsuredHook = {
        hook: existing,
        action: "unchanged",
        changes,
        secret: wanted.secret,
      };
      if (existing.isSigned !== false) return unchanged;
      // This GitLab can sign, if an administrator has not switched that off.
      const tried = await set(existing, wanted);
      if (tried.hook.isSigned !== true) return { ...unchanged, secret: tried.secret };
      return { ...tried, changes: ["it was not signed"] };
    },
    set,
    async delete(id) {
      const answer = await callGitLab(access, { method: "DELETE", path: pathOf(id) });
      if (answer.ok) return "deleted";
      if (answer.status === 404) return "gone";
      throw apiError(answer);
    },
    ping: (id) => test(access, pathOf(id)),
    pingsNew: false,
    page: (id) => hookPage(access.api, owner, id),
    log: (id) => gitLabLog(access, pathOf(id), id),
  };
}

/**
 * Path of a project or group in the API.
 *
 * @throws {AppError} `refused` for a name that would lead elsewhere.
 */
export function ownerPath({ project, group }: GitLabOwner): string {
  if (project !== undefined && isProject(project)) {
    return `/projects/${encodeURIComponent(project)}`;
  }
  if (group !== undefined && isGroup(group)) return `/groups/${encodeURIComponent(group)}`;
  // Only a manifest of an earlier version or an answer of GitLab can hold such a name.
  throw new AppError("refused", `"${project ?? group}" is not the name of a project or a group`);
}

/** Website of a server, from the address of its API. */
export function gitLabSite(api: string): string {
  return api.replace(/\/api\/v[0-9]+$/, "");
}

function hookPage(api: string, { project, group }: GitLabOwner, id: number): string {
  return `${gitLabSite(api)}/${project ?? `groups/${group}`}/-/hooks/${id}/edit`;
}

/**
 * A request that starts nothing: that of an access token which is to end. Servers that cannot test it
 * send the last push again.
 */
const TESTS = ["resource_access_token_events", "push_events"] as const;

/**
 * Has GitLab send a test, and waits for its end. An answer of 2xx also switches a webhook on again. What
 * GitLab says of a delivery that failed is in its log.
 */
async function test(access: ApiAccess, path: string): Promise<void> {
  for (const trigger of TESTS) {
    const answer = await callGitLab(access, { method: "POST", path: `${path}/test/${trigger}` });
    if (answer.ok) return;
    const isLast = trigger === TESTS.at(-1);
    const isUnknown = answer.status === 400 || answer.status === 404 ||
      answer.status === 422 && /testing not available|ensure the/i.test(answer.message);
    if (isUnknown && !isLast) continue;
    if (answer.status === 422 && !isUnknown) return; // sent, and not taken
    throw apiError(answer);
  }
}

/** A signing token as GitLab takes it: 32 bytes. */
const SIGNING_TOKEN = /^whsec_[A-Za-z0-9+/]{43}=$/;

function isSigningToken(secret: string): boolean {
  return SIGNING_TOKEN.test(secret);
}

/** A random signing token. */
export function newSigningToken(): string {
  return `whsec_${toBase64(crypto.getRandomValues(new Uint8Array(32)))}`;
}

/** A random token, which goes into a header. */
function newToken(): string {
  return toBase64(crypto.getRandomValues(new Uint8Array(32)));
}

/** The switches of events: those of a webhook that exists stay on. */
function switchesOf({ events }: HookSettings, existing: Hook | undefined): JsonObject {
  const wanted = new Set([...events, ...existing?.events ?? []]);
  const unknown = [...wanted].filter((event) => !HOOK_EVENTS.has(event));
  if (unknown.length > 0) {
    const message = `GitLab has no event ${unknown.join(", ")}: write some of ` +
      [...HOOK_EVENTS.keys()].join(", ");
    throw new AppError("usage", message);
  }
  return Object.fromEntries(
    [...HOOK_EVENTS].map(([event, field]) => [field, wanted.has(event)]),
  );
}

/** The settings of a webhook that are wrong, each as a part of a sentence. */
function differences(hook: Hook, { url, events, secret }: HookSettings): string[] {
  const missing = events.filter((event) => !hook.events.includes(event));
  return [
    ...(isSameUrl(hook.url, url) ? [] : [`its address was ${hook.url}`]),
    ...hook.faults,
    ...(isSigningToken(secret) && hook.isSigned !== true ? ["it was not signed"] : []),
    ...(!isSigningToken(secret) && hook.isSigned === true ? ["it had another signing token"] : []),
    ...(missing.length === 0 ? [] : [`it did not send ${missing.join(", ")}`]),
  ];
}

function toHook(data: unknown): Hook | undefined {
  if (!isJsonObject(data) || typeof data["id"] !== "number") return undefined;
  const { id, url, custom_webhook_template: template, signing_token_present: signed } = data;
  const events = [...HOOK_EVENTS].filter(([, field]) => data[field] === true);
  const off = offOf(data);
  return {
    id,
    url: textIn(url),
    events: events.map(([event]) => event),
    faults: [
      ...(data["enable_ssl_verification"] === false ? ["it did not check certificates"] : []),
      ...(textIn(template) === "" ? [] : ["it had a template of its own for what it sends"]),
    ],
    ...(typeof signed === "boolean" ? { isSigned: signed } : {}),
    ...(off === undefined ? {} : { off }),
  };
}

function offOf({ alert_status: status, disabled_until: end }: JsonObject): HookOff | undefined {
  if (status === "disabled") return {};
  if (status !== "temporarily_disabled") return undefined;
  const until = Date.parse(textIn(end));
  return Number.isNaN(until) ? {} : { until };
}
