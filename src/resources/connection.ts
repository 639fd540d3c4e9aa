/**
 * Kind `Connection`: a repository, organisation, app or channel at a platform, and the token with
 * which the daemon acts there. The store, not this resource, keeps its last event and its repairs.
 *
 * @module
 */

import { findDurationSecs } from "../base/duration.ts";
import { type ForgeName, FORGES } from "../base/forge_names.ts";
import { isRepository } from "../base/github_names.ts";
import { isProject } from "../base/gitlab_names.ts";
import {
  ConnectionSpec,
  type GitHubAppSpec,
  type GitHubSpec,
  type GitLabSpec,
} from "./connection_spec.ts";
import { type AnyKind, defineKind, type Reference } from "./kind.ts";
import { SLACK_API_URL } from "./names.ts";
import { errorAt, type Finding, type Resource, warningAt } from "./resource.ts";

export type { ConnectionSpec, GitHubAppSpec, GitHubSpec, GitLabSpec };

/** The platforms of Connections, as their blocks are named. */
export const CONNECTED_PLATFORMS = ["github", "gitlab", "slack", "line"] as const;
/** One of {@linkcode CONNECTED_PLATFORMS}. */
export type ConnectedPlatform = typeof CONNECTED_PLATFORMS[number];

/** Base URL of LINE's Messaging API. */
export const LINE_API_URL = "https://api.line.me";

/** Base URLs of the APIs, without a slash at their end. */
export const API_URLS: Readonly<Record<ConnectedPlatform, string>> = {
  github: "https://api.github.com",
  gitlab: "https://gitlab.com/api/v4",
  slack: SLACK_API_URL,
  line: LINE_API_URL,
};

/** Default of `repair.every`, in seconds. */
const REPAIR_EVERY_SECS = 300;

/** The platform of a Connection. */
export function platformOfConnection(spec: ConnectionSpec): ConnectedPlatform {
  const named = CONNECTED_PLATFORMS.find((platform) => spec[platform] !== undefined);
  if (named === undefined) throw new Error("A stored Connection names no platform");
  return named;
}

/** The forge of a Connection; `undefined` if its platform is none. */
export function forgeNameOf(spec: ConnectionSpec): ForgeName | undefined {
  return FORGES.find((forge) => spec[forge] !== undefined);
}

/** A webhook of a Connection at a forge. */
export interface ConnectionHook {
  readonly endpoint: string;
  readonly id: number;
  /** The project whose webhook it is, for a Connection to a group without webhooks of its own. */
  readonly project?: string;
}

/** The webhooks of a Connection at its forge. */
export function hooksOf({ github, gitlab }: ConnectionSpec): readonly ConnectionHook[] {
  return github?.hooks ?? gitlab?.hooks ?? [];
}

/** Base URL of the API of a Connection, without a slash at its end. */
export function apiUrlOf(spec: ConnectionSpec): string {
  const platform = platformOfConnection(spec);
  return (spec[platform]?.api ?? API_URLS[platform]).replace(/\/+$/, "");
}

/**
 * How far back the daemon reads the log of deliveries of the forge of this Connection, in
 * milliseconds; `undefined` if it does not read the log.
 */
export function logReachMs(spec: ConnectionSpec): number | undefined {
  if (forgeNameOf(spec) === undefined) return undefined;
  if (spec.github?.events !== "pull" && repairEverySecs(spec) === undefined) return undefined;
  return logRetentionMs(apiUrlOf(spec));
}

/** How long the forge of an API keeps its log of deliveries, in milliseconds. */
export function logRetentionMs(api: string): number {
  return (api === API_URLS.github ? 3 : 7) * 24 * 3600 * 1000;
}

/** Seconds between two repairs of a Connection; `undefined` without repairs. */
export function repairEverySecs({ repair }: ConnectionSpec): number | undefined {
  const secs = findDurationSecs(repair?.every ?? REPAIR_EVERY_SECS);
  return secs === 0 ? undefined : secs;
}

/** The other end of a Connection, for people: a repository, its owner, or the platform. */
export function connectedTo(spec: ConnectionSpec): string {
  const { github, gitlab } = spec;
  const named = github?.repository ?? github?.organization ?? github?.repositories?.join(", ") ??
    gitlab?.project ?? gitlab?.group;
  const app = github?.app;
  return named ?? (app === undefined ? platformOfConnection(spec) : appName(app));
}

/** An App of GitHub in a sentence. */
export function appName({ slug, id }: GitHubAppSpec): string {
  return `the app ${slug ?? id}`;
}

/** The kind `Connection`, with its references to SecretStores. */
export const connection: AnyKind = defineKind<ConnectionSpec>("Connection", {
  summary: "A repository, organization, app or channel at a platform, and the token to act there.",
  spec: ConnectionSpec,
  checks: [
    checkPlatform,
    ({ github }) => checkGitHub(github),
    ({ gitlab }) => checkGitLab(gitlab),
    checkTargets,
    checkIdle,
    checkSocket,
    checkApi,
  ],
  references: tokenReferences,
  columns: [
    { header: "PLATFORM", cell: ({ spec }) => platformOfConnection(spec) },
    { header: "TO", fit: "text", cell: ({ spec }) => connectedTo(spec) },
    { header: "EVENTS", cell: eventsCell },
  ],
});

function eventsCell({ spec }: Resource<ConnectionSpec>): string {
  return spec.github?.events ?? spec.slack?.events ?? "push";
}

function checkPlatform(spec: ConnectionSpec): Finding[] {
  const named = CONNECTED_PLATFORMS.filter((platform) => spec[platform] !== undefined);
  if (named.length === 1) return [];
  const found = named.length === 0 ? "found none" : `found ${named.join(" and ")}`;
  const message = `A Connection is to one platform, ${CONNECTED_PLATFORMS.join(", ")}: ${found}`;
  return [errorAt(["spec"], message)];
}

function checkGitHub(github: GitHubSpec | undefined): Finding[] {
  if (github === undefined) return [];
  const { token, app } = github;
  if ((token === undefined) === (app === undefined)) {
    const found = token === undefined ? "neither" : "both";
    const message = `A Connection to GitHub has a token or an app, found ${found}`;
    return [errorAt(["spec", "github"], message)];
  }
  return app === undefined ? checkWithToken(github) : checkWithApp(github, app);
}

function checkWithToken({ repository, organization, repositories }: GitHubSpec): Finding[] {
  if (repositories !== undefined) {
    const message = "Only an app covers a list of repositories: name one with repository";
    return [errorAt(["spec", "github", "repositories"], message)];
  }
  if ((repository === undefined) !== (organization === undefined)) return [];
  const found = repository === undefined ? "neither" : "both";
  const message = `A Connection to GitHub names a repository or an organization, found ${found}`;
  return [errorAt(["spec", "github"], message)];
}

function checkWithApp(
  { repository, organization, repositories, hooks = [] }: GitHubSpec,
  { id }: GitHubAppSpec,
): Finding[] {
  const at = ["spec", "github"];
  if (repository !== undefined) {
    const message = `With an app, write repositories: [${repository}]`;
    return [errorAt([...at, "repository"], message)];
  }
  if (organization !== undefined && repositories !== undefined) {
    return [errorAt(at, "With an app, name an organization or repositories, found both")];
  }
  const [hook, ...others] = hooks;
  if (hook === undefined || others.length === 0 && hook.id === id) return [];
  const message = `An app has one webhook: write hooks: [{endpoint: ${hook.endpoint}, id: ${id}}]`;
  return [errorAt([...at, "hooks"], message)];
}

function checkGitLab(gitlab: GitLabSpec | undefined): Finding[] {
  if (gitlab === undefined || (gitlab.project === undefined) !== (gitlab.group === undefined)) {
    return [];
  }
  const found = gitlab.project === undefined ? "neither" : "both";
  const message = `A Connection to GitLab names a project or a group, found ${found}`;
  return [errorAt(["spec", "gitlab"], message)];
}

/** Refuses targets that cannot be repositories of the forge. */
function checkTargets({ github, gitlab, allow }: ConnectionSpec): Finding[] {
  const [isOne, form] = github !== undefined
    ? [isRepository, "OWNER/NAME"] as const
    : gitlab !== undefined
    ? [isProject, "GROUP/PROJECT"] as const
    : [() => true, ""] as const;
  return (allow?.targets ?? []).flatMap((target, index) =>
    isOne(target)
      ? []
      : [errorAt(["spec", "allow", "targets", index], `Expected a repository: ${form}`)]
  );
}

/** Refuses fields that only forges have, in a Connection to another platform. */
function checkIdle(spec: ConnectionSpec): Finding[] {
  if (forgeNameOf(spec) !== undefined) return [];
  return (["repair", "allow"] as const).filter((field) => spec[field] !== undefined).map((field) =>
    errorAt(["spec", field], `"${field}" is for Connections to GitHub and GitLab, remove it`)
  );
}

function checkSocket({ slack }: ConnectionSpec): Finding[] {
  if (slack?.events !== "socket") return [];
  return (["appToken", "endpoint"] as const).filter((field) => slack[field] === undefined).map(
    (field) => {
      const what = field === "appToken"
        ? "the app-level token (xapp-…) that opens the socket"
        : "the endpoint whose triggers get the events";
      return errorAt(["spec", "slack", "events"], `Socket Mode needs "${field}": ${what}`);
    },
  );
}

/** Refuses an API address without TLS, except on this machine: its token could be read on the way. */
function checkApi(spec: ConnectionSpec): Finding[] {
  return CONNECTED_PLATFORMS.flatMap((platform) => {
    const api = spec[platform]?.api;
    const url = api === undefined ? null : URL.parse(api);
    if (url === null || url.protocol === "https:" || isLoopback(url.hostname)) return [];
    const message = "The token goes over the network unencrypted: write https:// if the server " +
      "has it";
    return [warningAt(["spec", platform, "api"], message)];
  });
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}

function tokenReferences(spec: ConnectionSpec): Reference[] {
  const tokens = [
    ["github", ["token"], spec.github?.token],
    ["github", ["app", "privateKey"], spec.github?.app?.privateKey],
    ["gitlab", ["token"], spec.gitlab?.token],
    ["slack", ["botToken"], spec.slack?.botToken],
    ["slack", ["appToken"], spec.slack?.appToken],
    ["line", ["channelAccessToken"], spec.line?.channelAccessToken],
  ] as const;
  return tokens.flatMap(([platform, field, token]) =>
    token === undefined ? [] : [{
      kind: "SecretStore",
      name: token.fromSecret.store,
      secretKey: token.fromSecret.key,
      path: ["spec", platform, ...field, "fromSecret", "store"],
      consequence: "svc can neither ask the platform nor send to it",
    }]
  );
}
