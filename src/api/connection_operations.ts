/**
 * The operations on Connections. Each calls a platform, so each streams its finished steps, and
 * then its result.
 *
 * @module
 */

import Type from "typebox";
import type { ErrorCode } from "../base/errors.ts";
import { ORGANIZATION_PATTERN, REPOSITORY_PATTERN } from "../base/github_names.ts";
import { GROUP_PATTERN, HOOK_EVENTS, PROJECT_PATTERN } from "../base/gitlab_names.ts";
import {
  defineOperation,
  json,
  lines,
  OPTIONAL_SECS,
  OPTIONAL_TEXT,
  PROJECT,
  SECRET,
  TEXT,
} from "./operation.ts";
import type { ApplyOutcome } from "./resource_operations.ts";

/** One line: something that was done or begun, something to know, the result, or the error. */
export type ConnectionLine<Result> =
  | { readonly step: string }
  | { readonly note: string }
  | { readonly result: Result }
  | {
    readonly refused: {
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: readonly string[];
    };
  };

/** A Connection that was made or found as it has to be. */
export interface Connected {
  readonly name: string;
  readonly project: string;
  /** Repository, organization or platform. */
  readonly to: string;
  readonly events: string;
  /** The owner of the token. */
  readonly login: string;
  /** RFC 3339; `null` without an end, or if it is not known. */
  readonly token_expires_at: string | null;
  /** The result for each resource. */
  readonly resources: readonly ApplyOutcome[];
  readonly hooks: readonly ConnectedHook[];
  /** The check that an event arrives; `null` if none can be made. */
  readonly check: {
    readonly ok: boolean;
    /** The fault in one word; `null` without one. */
    readonly fault: string | null;
    readonly message: string;
  } | null;
}

/** The form that registers an App; its fields are `null` if there is nothing to register. */
export interface AppForm {
  /** Name of the Connection. */
  readonly name: string;
  /** The address that takes it. */
  readonly form: string | null;
  /** Its field of that name. */
  readonly manifest: string | null;
}

/** A webhook at the platform. */
export interface ConnectedHook {
  readonly endpoint: string;
  readonly id: number;
  readonly url: string;
  readonly action: "created" | "configured" | "unchanged";
}

/** The result of a disconnect. */
export interface Disconnected {
  /** Address of the app that only its owner can delete; `null` without one. */
  readonly app: string | null;
  readonly name: string;
  readonly project: string;
  /** Webhooks that were deleted, now or before. */
  readonly hooks: readonly { readonly id: number; readonly was: "deleted" | "gone" }[];
  /** The deleted resources, as `kind/name`. */
  readonly deleted: readonly string[];
  /** The address at which its owner can revoke the token. */
  readonly revoke_at: string | null;
}

/** An event that a forge could not deliver. */
export interface MissedEvent {
  readonly guid: string;
  readonly event: string;
  /** Empty where it has none. */
  readonly action: string;
  /** RFC 3339 of the first try. */
  readonly first_tried_at: string;
  /** How the last try ended. */
  readonly status: string;
  /** `missing` in a dry run, and while it may still come. */
  readonly result: "repaired" | "lost" | "missing";
}

/** The result of a repair. */
export interface Repaired {
  readonly name: string;
  readonly project: string;
  readonly dry_run: boolean;
  readonly missed: readonly MissedEvent[];
  readonly repaired: number;
  readonly lost: number;
  /** Why it could not read the whole log; `null` if it could. */
  readonly fault: string | null;
}

/** Base of the addresses of an API, or of those under which a platform reaches the daemon. */
const URL_BASE = Type.String({
  pattern: "^https?://[^\\s/?#@]+(/[^\\s?#]*)?$",
  title: "an http(s) URL without a user and a query",
});
/** A token; the stored one when absent. */
const OPTIONAL_SECRET = Type.Optional(SECRET);

/** How GitHub and svc are to reach each other. */
const GITHUB_WAY = {
  organization: Type.Optional(
    Type.String({ pattern: ORGANIZATION_PATTERN, title: "the name of an organization" }),
  ),
  name: OPTIONAL_TEXT,
  project: PROJECT,
  api: Type.Optional(URL_BASE),
  url: Type.Optional(URL_BASE),
  pull: Type.Optional(
    Type.Boolean({
      description: "Reads events from GitHub's log, so that svc needs no public address",
    }),
  ),
  endpoint: Type.Optional(Type.String({ description: "Endpoint of own triggers" })),
  events: Type.Optional(Type.Array(TEXT, { minItems: 1 })),
};

/** How GitLab and svc are to reach each other. */
const GITLAB_WAY = {
  name: OPTIONAL_TEXT,
  project: PROJECT,
  api: Type.Optional(URL_BASE),
  url: Type.Optional(URL_BASE),
  endpoint: Type.Optional(Type.String({ description: "Endpoint of own triggers" })),
  events: Type.Optional(Type.Array(Type.Enum([...HOOK_EVENTS.keys()]), { minItems: 1 })),
};

/** The operations on Connections, by name. */
export const CONNECTION_OPERATIONS = {
  "connect.github": defineOperation({
    summary: "Connects a repository or an organization at GitHub: webhooks, secret, package",
    input: {
      repository: Type.Optional(
        Type.String({ pattern: REPOSITORY_PATTERN, title: "a repository: OWNER/NAME" }),
      ),
      ...GITHUB_WAY,
      token: OPTIONAL_SECRET,
    },
    output: lines<ConnectionLine<Connected>>(),
    role: "admin", // it stores a token and makes webhooks
  }),
  "connect.github_manifest": defineOperation({
    summary: "Makes the form with which a browser registers a GitHub App",
    input: {
      ...GITHUB_WAY,
      redirect_url: Type.String({
        pattern: "^https?://[^\\s]{1,2000}$",
        title: "an http(s) URL",
        description: "Where GitHub sends the browser with the code",
      }),
    },
    output: json<AppForm>(),
    role: "admin",
  }),
  "connect.github_app": defineOperation({
    summary: "Connects a GitHub App: key, secret, package, installation",
    input: {
      ...GITHUB_WAY,
      code: Type.Optional(
        Type.String({
          pattern: "^[A-Za-z0-9_-]{1,100}$",
          description: "Code of the registration; absent for an app that is connected",
        }),
      ),
    },
    output: lines<ConnectionLine<Connected>>(),
    role: "admin", // it stores a key
  }),
  "connect.gitlab": defineOperation({
    summary: "Connects a project or a group at GitLab: webhooks, secret, package",
    input: {
      repository: Type.Optional(
        Type.String({ pattern: PROJECT_PATTERN, title: "a project: GROUP/PROJECT" }),
      ),
      group: Type.Optional(Type.String({ pattern: GROUP_PATTERN, title: "the name of a group" })),
      ...GITLAB_WAY,
      token: OPTIONAL_SECRET,
    },
    output: lines<ConnectionLine<Connected>>(),
    role: "admin", // it stores a token and makes webhooks
  }),
  "connect.slack": defineOperation({
    summary: "Connects an app at Slack over Socket Mode: tokens, package, socket",
    input: {
      name: OPTIONAL_TEXT,
      project: PROJECT,
      api: Type.Optional(URL_BASE),
      endpoint: Type.Optional(Type.String({ description: "Endpoint of own triggers" })),
      bot_token: OPTIONAL_SECRET,
      app_token: OPTIONAL_SECRET,
    },
    output: lines<ConnectionLine<Connected>>(),
    role: "admin", // it stores tokens
  }),
  "connect.line": defineOperation({
    summary: "Connects a channel at LINE: secret, token, package, webhook",
    input: {
      name: OPTIONAL_TEXT,
      project: PROJECT,
      api: Type.Optional(URL_BASE),
      url: URL_BASE,
      endpoint: Type.Optional(Type.String({ description: "Endpoint of own triggers" })),
      token: OPTIONAL_SECRET,
      channel_secret: OPTIONAL_SECRET,
    },
    output: lines<ConnectionLine<Connected>>(),
    role: "admin", // it stores a token and a secret
  }),
  "connection.disconnect": defineOperation({
    summary: "Deletes the webhooks of a Connection, and the Connection",
    input: {
      name: TEXT,
      project: PROJECT,
      all: Type.Boolean({ description: "Also deletes the package of its platform" }),
    },
    output: lines<ConnectionLine<Disconnected>>(),
    role: "admin",
  }),
  "connection.repair": defineOperation({
    summary: "Recovers the events that a forge could not deliver",
    input: { name: TEXT, project: PROJECT, since_secs: OPTIONAL_SECS, dry_run: Type.Boolean() },
    output: lines<ConnectionLine<Repaired>>(),
    role: "operator",
  }),
};
