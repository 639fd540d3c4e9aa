/**
 * Kind `Connection`: a repository, organisation, app or channel at a platform, and the token with
 * which the daemon acts there. The store, not this resource, keeps its last event and its repairs.
 *
 * @module
 */

import Type from "typebox";
import { findDurationSecs } from "../base/duration.ts";
import { ORGANIZATION_PATTERN, REPOSITORY_PATTERN } from "../base/github_names.ts";
import { FromSecret } from "./env.ts";
import { type AnyKind, defineKind, type Reference } from "./kind.ts";
import { OUTPUTS } from "./may.ts";
import { Name } from "./metadata.ts";
import { SLACK_API_URL } from "./names.ts";
import { errorAt, type Finding, type Resource, warningAt } from "./resource.ts";
import { Duration } from "./timeout.ts";

const CLOSED = { additionalProperties: false };

/** Base URL of an API; a slash at its end does not matter. */
const ApiUrl = Type.String({
  pattern: "^https?://[^\\s/?#]+[^\\s?#]*$",
  title: "an http(s) URL without a query",
});

const RepositoryName = Type.String({
  pattern: REPOSITORY_PATTERN,
  title: "a repository: OWNER/NAME",
});

const Hook = Type.Object({
  endpoint: Name,
  id: Type.Integer({ minimum: 1 }),
}, CLOSED);

const GitHubApp = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  slug: Type.Optional(Type.String({
    pattern: "^[a-z0-9][a-z0-9-]{0,99}$",
    title: "the name of an app in its address",
  })),
  clientId: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9._-]{1,100}$" })),
  privateKey: FromSecret,
}, CLOSED);

const GitHub = Type.Object({
  repository: Type.Optional(RepositoryName),
  organization: Type.Optional(Type.String({
    pattern: ORGANIZATION_PATTERN,
    title: "the name of an organization",
  })),
  repositories: Type.Optional(Type.Array(RepositoryName, {
    minItems: 1,
    maxItems: 500,
    title: "a list of repositories: OWNER/NAME",
  })),
  api: Type.Optional(ApiUrl),
  token: Type.Optional(FromSecret),
  app: Type.Optional(GitHubApp),
  events: Type.Optional(Type.Enum(["push", "pull"])),
  hooks: Type.Optional(Type.Array(Hook)),
}, CLOSED);

const Slack = Type.Object({
  botToken: FromSecret,
  appToken: Type.Optional(FromSecret),
  api: Type.Optional(ApiUrl),
  events: Type.Optional(Type.Enum(["push", "socket"])),
  endpoint: Type.Optional(Name),
}, CLOSED);

const Line = Type.Object({
  channelAccessToken: FromSecret,
  api: Type.Optional(ApiUrl),
  endpoint: Type.Optional(Name),
}, CLOSED);

const ConnectionSpec = Type.Object({
  github: Type.Optional(GitHub),
  slack: Type.Optional(Slack),
  line: Type.Optional(Line),
  repair: Type.Optional(Type.Object({
    every: Type.Union([Type.Literal(0), Type.Literal("0"), Duration], {
      title: 'a duration such as "5m", or 0 for never',
    }),
  }, CLOSED)),
  allow: Type.Optional(Type.Object({
    targets: Type.Optional(Type.Array(RepositoryName)),
    outputs: Type.Optional(Type.Array(Type.Enum([...OUTPUTS]), {
      uniqueItems: true,
      title: "a list of outputs, such as [comment, pull]; [] stops all",
    })),
  }, CLOSED)),
}, CLOSED);

/** `spec` of a Connection: exactly one of its platforms is there. */
export type ConnectionSpec = Type.Static<typeof ConnectionSpec>;
/**
 * `spec.github`: with `token`, exactly one of `repository` and `organization`; with `app`, at most one
 * of `organization` and `repositories`, and without both every repository where it is installed.
 */
export type GitHubSpec = Type.Static<typeof GitHub>;
/** `spec.github.app` as written by the user. */
export type GitHubAppSpec = Type.Static<typeof GitHubApp>;

/** The platforms of Connections, as their blocks are named. */
export const CONNECTED_PLATFORMS = ["github", "slack", "line"] as const;
/** One of {@linkcode CONNECTED_PLATFORMS}. */
export type ConnectedPlatform = typeof CONNECTED_PLATFORMS[number];

/** Base URL of LINE's Messaging API. */
export const LINE_API_URL = "https://api.line.me";

/** Base URLs of the APIs, without a slash at their end. */
const API_URLS: Readonly<Record<ConnectedPlatform, string>> = {
  github: "https://api.github.com",
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

/** Base URL of the API of a Connection, without a slash at its end. */
export function apiUrlOf(spec: ConnectionSpec): string {
  const platform = platformOfConnection(spec);
  return (spec[platform]?.api ?? API_URLS[platform]).replace(/\/+$/, "");
}

/**
 * How far back the daemon reads GitHub's log of deliveries for this Connection, in milliseconds;
 * `undefined` if it does not read the log.
 */
export function logReachMs(spec: ConnectionSpec): number | undefined {
  if (spec.github === undefined) return undefined;
  if (spec.github.events !== "pull" && repairEverySecs(spec) === undefined) return undefined;
  return logRetentionMs(apiUrlOf(spec));
}

/** How long GitHub's API keeps its log of deliveries, in milliseconds. */
export function logRetentionMs(api: string): number {
  return (api === API_URLS.github ? 3 : 7) * 24 * 3600 * 1000;
}

/** Seconds between two repairs of a Connection; `undefined` without repairs. */
export function repairEverySecs({ repair }: ConnectionSpec): number | undefined {
  const secs = findDurationSecs(repair?.every ?? REPAIR_EVERY_SECS);
  return secs === 0 ? undefined : secs;
}

/** The other end of a Connection, for people: a repository, an organization, or the platform. */
export function connectedTo(spec: ConnectionSpec): string {
  const { github } = spec;
  const named = github?.repository ?? github?.organization ?? github?.repositories?.join(", ");
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
  checks: [checkPlatform, ({ github }) => checkGitHub(github), checkIdle, checkSocket, checkApi],
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

/** Refuses fields that only GitHub has, in a Connection to another platform. */
function checkIdle(spec: ConnectionSpec): Finding[] {
  if (spec.github !== undefined) return [];
  return (["repair", "allow"] as const).filter((field) => spec[field] !== undefined).map((field) =>
    errorAt(["spec", field], `"${field}" is for Connections to GitHub, remove it`)
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
