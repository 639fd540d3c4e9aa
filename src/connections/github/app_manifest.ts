/**
 * The registration of an App of GitHub from a manifest
 * (https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest): what
 * the form is to hold, and what GitHub gives for the code that follows.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { isOrganization } from "../../base/github_names.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ApiAccess } from "../api/api_call.ts";
import { findPrivateKey } from "./app_jwt.ts";
import type { Rights } from "./app_rights.ts";
import { mustCall } from "./github_client.ts";

/** What an App is to be. */
export interface AppManifest {
  readonly name: string;
  /** Address of its webhook. */
  readonly hookUrl: string;
  /** Where GitHub returns to with the code. */
  readonly redirectUrl: string;
  readonly events: readonly string[];
}

/** What messages of svc need, and reading checks; each token has the rights of one of them alone. */
const RIGHTS: Rights = {
  metadata: "read",
  contents: "write",
  issues: "write",
  pull_requests: "write",
  statuses: "write",
  checks: "write",
  actions: "read", // which of several check suites is the newest
};
/** What events need beside them. */
const RIGHTS_OF_EVENTS: Readonly<Record<string, Rights>> = {
  deployment: { deployments: "read" },
  deployment_status: { deployments: "read" },
  discussion: { discussions: "read" },
  discussion_comment: { discussions: "read" },
};
/** Most characters of a name that GitHub takes. */
const MAX_NAME = 34;

/** The manifest as GitHub's form takes it. */
export function manifestOf({ name, hookUrl, redirectUrl, events }: AppManifest): JsonObject {
  const more = events.map((event) =>
    Object.hasOwn(RIGHTS_OF_EVENTS, event) ? RIGHTS_OF_EVENTS[event] : {}
  );
  return {
    name: name.slice(0, MAX_NAME),
    url: new URL(hookUrl).origin,
    hook_attributes: { url: hookUrl, active: true },
    redirect_url: redirectUrl,
    public: false,
    default_events: [...events],
    default_permissions: Object.assign({}, RIGHTS, ...more),
  };
}

/** A new App, with what GitHub shows once. */
export interface NewApp {
  readonly id: number;
  readonly slug: string;
  readonly clientId: string;
  readonly pem: string;
  /** Absent if GitHub made none. */
  readonly webhookSecret?: string;
}

/**
 * Exchanges the code of a registration for the App; a code works once, within an hour.
 *
 * @throws {AppError} `refused`, `overloaded`.
 */
export async function convertManifest(
  access: Omit<ApiAccess, "token">,
  code: string,
): Promise<NewApp> {
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(code)) {
    throw new AppError("invalid", "The code of the registration has characters that none can have");
  }
  const path = `/app-manifests/${code}/conversions`;
  const { data } = await mustCall({ ...access, token: () => "" }, { method: "POST", path });
  const { id, slug, client_id: clientId, pem, webhook_secret: secret } = isJsonObject(data)
    ? data
    : {};
  const isApp = typeof id === "number" && Number.isSafeInteger(id) && id > 0 &&
    typeof slug === "string" && /^[a-z0-9][a-z0-9-]{0,99}$/.test(slug) &&
    typeof clientId === "string" && isOrganization(clientId) &&
    typeof pem === "string" && findPrivateKey(pem) !== undefined;
  if (!isApp) throw new AppError("refused", "GitHub did not return the app that was registered");
  const made = { id, slug, clientId, pem };
  return typeof secret === "string" && secret !== "" ? { ...made, webhookSecret: secret } : made;
}
