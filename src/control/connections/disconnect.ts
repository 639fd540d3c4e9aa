/**
 * `svc disconnect`: deletes the webhooks of a Connection at its platform, then the Connection.
 * Tokens are not revoked: only their owner can do that. Triggers, tasks and deliveries stay.
 *
 * @module
 */

import type { Disconnected } from "../../api/connection_operations.ts";
import type { Input } from "../../api/operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { AppError } from "../../base/errors.ts";
import type { ForgeTokens } from "../../connections/forge_tokens.ts";
import { appPage } from "../../connections/github/app_pages.ts";
import { forgeHooksOf } from "../../connections/forge_hooks.ts";
import { gitLabSite } from "../../connections/gitlab/hooks.ts";
import { secretTemplatesOf } from "../../integrations/package_resources.ts";
import { type IntegrationPackage, labelOf, packageNamed } from "../../integrations/packages.ts";
import {
  apiUrlOf,
  connectedTo,
  connection as kind,
  type ConnectionSpec,
  hooksOf,
  platformOfConnection,
} from "../../resources/connection.ts";
import { KINDS } from "../../resources/kinds.ts";
import { DEFAULT_PROJECT, type Resource } from "../../resources/resource.ts";
import { remove } from "../resources/delete.ts";
import { findResource, type QueryHost } from "../resources/queries.ts";
import { removeSecret } from "../resources/rotate_secret.ts";
import { signingStoresAt } from "../../connections/endpoints.ts";
import type { ConnectionWork } from "./lines.ts";

/** The resources of a daemon, and the tokens with which it deletes webhooks. */
export interface DisconnectHost extends QueryHost {
  readonly forgeTokens: ForgeTokens;
}

/**
 * @throws {AppError} `not_found`; `refused` or `overloaded` when a webhook cannot be deleted, and
 * then the Connection stays.
 */
export async function* disconnect(
  input: Input<"connection.disconnect">,
  caller: Caller,
  host: DisconnectHost,
  signal: AbortSignal,
): ConnectionWork<Disconnected> {
  const { project = DEFAULT_PROJECT, name, all } = input;
  const found = findResource(kind, { project, name }, host.catalog) as Resource<ConnectionSpec>;
  const hooks = yield* deleteHooks(found, host, signal);
  const deleted = await deleteResources(found, { all, caller, host });
  const app = found.spec.github?.app;
  const page = app === undefined ? null : `${appPage(found.spec, app)}/advanced`;
  const revokeAtPage = page === null ? revokeAt(found.spec) : null;
  return { name, project, app: page, hooks, deleted, revoke_at: revokeAtPage };
}

async function* deleteHooks(
  found: Resource<ConnectionSpec>,
  host: DisconnectHost,
  signal: AbortSignal,
): AsyncGenerator<{ readonly step: string }, Disconnected["hooks"], undefined> {
  const { spec } = found;
  const hooks = hooksOf(spec);
  if (hooks.length === 0) return [];
  // The webhook of an app goes with it, and only its owner can delete it.
  if (spec.github?.app !== undefined) return [];
  const access = host.forgeTokens.hookAccess(found, signal);
  const done: { readonly id: number; readonly was: "deleted" | "gone" }[] = [];
  for (const { id, project } of hooks) {
    const at = forgeHooksOf(spec, access, project);
    try {
      const was = await at.delete(id);
      done.push({ id, was });
      yield { step: was === "gone" ? `webhook ${id} no longer existed` : `webhook ${id} deleted` };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const message = `Webhook ${id} could not be deleted, and the Connection stays: ` +
        `${error.message}. Instead, delete it at ${at.page(id)}, then svc delete ` +
        `connection ${found.name}`;
      throw new AppError(error.code, message, { cause: error });
    }
  }
  return done;
}

/**
 * Deletes a Connection with its token and the secret of its webhooks; with `all` also the package
 * of its platform. Resources that others use stay.
 */
export async function deleteResources(
  found: Resource<ConnectionSpec>,
  { all, caller, host }: { all: boolean; caller: Caller; host: QueryHost },
): Promise<readonly string[]> {
  const { project, name, spec } = found;
  const stores = tokenStoresOf(spec);
  const signing = hooksOf(spec).flatMap(({ endpoint }) =>
    signingStoresAt({ project, endpoint }, host.catalog)
  );
  const common = { project, ignore_missing: true } as const;
  const own = await remove(
    { ...common, targets: [{ what: kind.kind, names: [name] }], used: "delete" },
    caller,
    host,
  );
  const tokens = await remove(
    { ...common, targets: [{ what: "SecretStore", names: stores }], used: "keep" },
    caller,
    host,
  );
  const of = all ? packageOf(spec) : undefined;
  const rest = of === undefined ? { deleted: [] } : await remove(
    { ...common, targets: packageTargets(of), used: "keep" },
    caller,
    host,
  );
  for (const store of new Set(signing)) await forgetSecret({ project, store, key: name }, host);
  return [...own.deleted, ...tokens.deleted, ...rest.deleted];
}

/** SecretStores that hold tokens of a Connection. */
function tokenStoresOf({ github, gitlab, slack, line }: ConnectionSpec): string[] {
  const places = [
    github?.token,
    github?.app?.privateKey,
    gitlab?.token,
    slack?.botToken,
    slack?.appToken,
    line?.channelAccessToken,
  ];
  return [...new Set(places.flatMap((one) => one === undefined ? [] : [one.fromSecret.store]))];
}

function packageOf(spec: ConnectionSpec) {
  return packageNamed(platformOfConnection(spec));
}

function packageTargets(pack: IntegrationPackage) {
  const selector = labelOf(pack);
  return [
    ...KINDS.filter(({ global }) => !global).map(({ kind }) => ({ what: kind, selector })),
    { what: "SecretStore", names: secretTemplatesOf(pack).map(({ name }) => name) },
  ];
}

/** Deletes the secret with which its webhooks signed, unless it is the last key of its store. */
async function forgetSecret(
  at: { readonly project: string; readonly store: string; readonly key: string },
  host: QueryHost,
): Promise<void> {
  try {
    await removeSecret({ ...at, force: false }, host);
  } catch (error) {
    const { code } = error instanceof AppError ? error : { code: undefined };
    if (code !== "not_found" && code !== "conflict") throw error;
  }
}

/** The address at which the owner of the token can revoke it. */
function revokeAt(spec: ConnectionSpec): string {
  if (spec.slack !== undefined) return "https://api.slack.com/apps";
  if (spec.line !== undefined) {
    return "https://developers.line.biz/console/, where you also switch off Use webhook";
  }
  if (spec.gitlab !== undefined) {
    const { project, group } = spec.gitlab;
    const of = project ?? `groups/${group}`;
    return `${
      gitLabSite(apiUrlOf(spec))
    }/${of}/-/settings/access_tokens, or in the settings of the ` +
      "token's owner";
  }
  const { origin } = new URL(apiUrlOf(spec));
  return origin === "https://api.github.com"
    ? "https://github.com/settings/personal-access-tokens"
    : `${origin}, in the settings of the token's owner, for ${connectedTo(spec)}`;
}
