/**
 * `svc connect github --app`: registers an App at GitHub from a manifest, which a person's browser
 * carries there, and connects it. Run again, it sets right the address of the webhook, and waits until
 * the App is installed.
 *
 * @module
 */

import type { Connected } from "../../api/connection_operations.ts";
import type { Input, Output } from "../../api/operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { toHex } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { PACKAGE_EVENTS } from "../../base/github_names.ts";
import { toJson } from "../../base/json.ts";
import type { ApiAccess } from "../../connections/api/api_call.ts";
import { convertManifest, manifestOf, type NewApp } from "../../connections/github/app_manifest.ts";
import type { Installation } from "../../connections/github/app_token.ts";
import { callGitHub } from "../../connections/github/github_client.ts";
import type { EnsuredHook } from "../../connections/api/hooks.ts";
import { ensureAppHook, isGitea } from "../../connections/github/hooks.ts";
import { appPage, gitHubSite, installPage } from "../../connections/github/app_pages.ts";
import { webhookPath } from "../../intake/webhook_path.ts";
import {
  connectedTo,
  type ConnectionSpec,
  type GitHubAppSpec,
} from "../../resources/connection.ts";
import { defaultConnectionName } from "../../resources/names.ts";
import { DEFAULT_PROJECT, type Resource } from "../../resources/resource.ts";
import { apply } from "../resources/apply.ts";
import type { ConnectHost } from "./connect_forge.ts";
import { checkAppWay } from "./check_app_way.ts";
import {
  connectionFile,
  newSecret,
  type Receiving,
  receivingOf,
  secretFile,
  type SecretToSet,
  tokenStoreOf,
  valueOf,
  wayOf,
} from "./connect_manifests.ts";
import type { ConnectionWork } from "./lines.ts";

type AppInput = Omit<Input<"connect.github_app">, "code">;

/** The connection to make, computed from the input and the resources alone. */
interface Plan {
  readonly project: string;
  readonly name: string;
  readonly api: string;
  readonly organization: string | undefined;
  readonly events: "push" | "pull";
  readonly known: Resource<ConnectionSpec> | undefined;
  readonly receiving: Receiving;
  readonly endpoint: string;
  /** Address of the webhook. */
  readonly hookUrl: string;
  readonly keyAt: { readonly store: string; readonly key: string };
}

/** How long svc waits until the App is installed, and between two questions. */
const INSTALL_MS = 10 * 60_000;
const ASK_EVERY_MS = 2000;

/**
 * The form that registers the App, or that there is nothing to register.
 *
 * @throws {AppError} `usage`, `refused`.
 */
export function appManifest(
  input: Input<"connect.github_manifest">,
  host: ConnectHost,
): Output<"connect.github_manifest"> {
  const { redirect_url: redirectUrl, events = PACKAGE_EVENTS } = input;
  const { api, name, organization, hookUrl, known } = toPlan(input, host);
  if (known !== undefined) return { name, form: null, manifest: null };
  const site = gitHubSite(api);
  const owner = organization === undefined ? "" : `/organizations/${organization}`;
  // Names of apps are unique at GitHub.
  const suffix = toHex(crypto.getRandomValues(new Uint8Array(2)));
  const of = name === "github" ? "svc" : `svc-${name.slice(0, 24)}`;
  const manifest = manifestOf({ name: `${of}-${suffix}`, hookUrl, redirectUrl, events });
  return { name, form: `${site}${owner}/settings/apps/new`, manifest: toJson(manifest) };
}

/** @throws {AppError} `usage`, `refused` or `overloaded`, with what is wrong and what to do. */
export async function* connectGitHubApp(
  input: Input<"connect.github_app">,
  caller: Caller,
  host: ConnectHost,
  signal: AbortSignal,
): ConnectionWork<Connected> {
  const plan = toPlan(input, host);
  const { project, name, endpoint, hookUrl } = plan;
  const since = host.clock.now();
  const made = plan.known === undefined
    ? yield* register(input.code, { plan, caller, host, signal })
    : undefined;
  const connection = host.catalog.find<ConnectionSpec>("Connection", project, name);
  const app = connection?.spec.github?.app;
  if (connection === undefined || app === undefined) throw deletedMeanwhile(name);
  const access = host.forgeTokens.hookAccess(connection, signal);
  const secret = storedSecret(plan, host);
  const wanted = { url: hookUrl, secret };
  const isNew = made !== undefined;
  const ensured = isNew && made.webhookSecret !== undefined
    ? undefined
    : await ensureAppHook(access, { id: app.id, wanted, anew: isNew });
  if (ensured !== undefined && ensured.action !== "unchanged") {
    yield { step: `webhook of ${app.slug} set: ${ensured.changes.join(", ")}` };
  }
  const bot = await botOf(app, access);
  await host.store.noteConnection(connection, {
    login: bot.login,
    ...defined({ userId: bot.userId }),
    fault: null,
    ...(isNew ? { marks: { [String(app.id)]: since } } : {}),
  }, host.clock.now());
  const at = { access, id: app.id, project, key: name, endpoint, wanted, host, signal };
  const check = plan.events === "pull" ? null : yield* checkAppWay(at);
  if (check?.ok !== false) yield* waitForInstallation(connection, app, { host, signal });
  const hook = { endpoint, id: app.id, url: hookUrl };
  const action: EnsuredHook["action"] = isNew ? "created" : ensured?.action ?? "unchanged";
  return {
    name,
    project,
    to: connectedTo(connection.spec),
    events: plan.events,
    login: bot.login,
    token_expires_at: null,
    resources: made?.resources ?? [],
    hooks: [{ ...hook, action }],
    check,
  };
}

function toPlan(input: AppInput, { catalog }: ConnectHost): Plan {
  const { project = DEFAULT_PROJECT, organization, endpoint: asked } = input;
  const name = input.name ?? defaultConnectionName(organization ?? "github");
  const known = catalog.find<ConnectionSpec>("Connection", project, name);
  const other = known?.spec.github;
  const isSame = known === undefined || other?.app !== undefined &&
      (organization === undefined ||
        other.organization?.toLowerCase() === organization.toLowerCase());
  if (!isSame) {
    const message = `Connection "${name}" is to ${connectedTo(known.spec)}` +
      `${
        other?.app === undefined ? ", not to an app" : ""
      }: give this one another name with --name`;
    throw new AppError("refused", message);
  }
  const { events, api, base } = wayOf(input, known);
  if (isGitea(api)) {
    throw new AppError("refused", "Gitea and Forgejo have no apps: connect with a token");
  }
  const receiving = receivingOf({ project, endpoint: asked }, catalog);
  const [endpoint, ...more] = receiving.endpoints;
  if (endpoint === undefined || more.length > 0) {
    const message = `An app has one address, and the triggers are at ${
      receiving.endpoints.join(", ")
    }: name one with --endpoint`;
    throw new AppError("refused", message);
  }
  return {
    project,
    name,
    api,
    organization: organization ?? known?.spec.github?.organization,
    events,
    known,
    receiving,
    endpoint,
    hookUrl: `${base}${webhookPath({ project, name: endpoint })}`,
    keyAt: tokenStoreOf({ project, name }, known, {
      signing: receiving.store,
      catalog,
      key: "app-key",
    }),
  };
}

/** Where the steps of this work happen. */
interface Scene {
  readonly plan: Plan;
  readonly caller: Caller;
  readonly host: ConnectHost;
  readonly signal: AbortSignal;
}

/** Exchanges the code, and stores what GitHub shows once. */
async function* register(
  code: string | undefined,
  { plan, caller, host, signal }: Scene,
): ConnectionWork<NewApp & Pick<Connected, "resources">> {
  if (code === undefined) {
    throw new AppError("usage", "A new app needs the code of its registration");
  }
  const { project, api, events, endpoint, organization, receiving, keyAt } = plan;
  const made = await convertManifest({ api, clock: host.clock, signal }, code);
  const app: GitHubAppSpec = {
    id: made.id,
    slug: made.slug,
    clientId: made.clientId,
    privateKey: { fromSecret: keyAt },
  };
  const spec: ConnectionSpec = {
    github: {
      app,
      ...defined({ organization }),
      ...(api === "https://api.github.com" ? {} : { api }),
      ...(events === "push" ? {} : { events }),
      hooks: [{ endpoint, id: made.id }],
    },
  };
  const page = appPage(spec, app);
  const secret = signingSecret(plan, made.webhookSecret ?? newSecret());
  const key = { project, ...keyAt, value: made.pem, replace: true };
  // A refusal may repeat what was applied, and the key is in no SecretStore yet.
  using _key = host.secrets.hide(made.pem);
  try {
    const files = [
      ...receiving.files,
      secretFile(secret, host.catalog),
      secretFile(key, host.catalog),
      connectionFile(plan, spec, undefined),
    ];
    const applied = await apply({ files, project, dry_run: false }, caller, host);
    yield { step: `app ${made.slug} registered: ${page}` };
    if (receiving.installs) yield { step: "package github installed" };
    for (const warning of applied.warnings) yield { note: warning };
    return { ...made, resources: applied.results };
  } catch (error) {
    const code = error instanceof AppError ? error.code : "refused";
    const message =
      `${messageOf(error)}. The app ${made.slug} exists at GitHub without svc having ` +
      `its key: delete it at ${page}/advanced, then run this command again`;
    throw new AppError(code, message, { cause: error });
  }
}

function signingSecret({ project, name, receiving }: Plan, value: string): SecretToSet {
  const labels = receiving.installs ? { integration: "github" } : undefined;
  return {
    project,
    store: receiving.store,
    key: name,
    value,
    replace: true,
    ...defined({ labels }),
  };
}

/** The secret with which GitHub signs, as it is stored. */
function storedSecret(plan: Plan, { catalog }: ConnectHost): string {
  const secret = valueOf({ ...signingSecret(plan, ""), replace: false }, catalog);
  if (secret !== "") return secret;
  const { store } = plan.receiving;
  const message =
    `SecretStore "${store}" has no key "${plan.name}", with which GitHub signs: set ` +
    `a random one with svc secret set ${store} ${plan.name}, then run this again`;
  throw new AppError("refused", message);
}

/** The user as which the App writes; its id only if everybody may ask for it. */
async function botOf(
  { slug, id }: GitHubAppSpec,
  { api, clock, signal }: ApiAccess,
): Promise<{ readonly login: string; readonly userId?: string }> {
  if (slug === undefined) return { login: String(id) };
  const access = { api, clock, ...defined({ signal }), token: () => "" };
  const answer = await callGitHub(access, { path: `/users/${slug}%5Bbot%5D` });
  const user = answer.ok ? answer.data as { id?: unknown } | null : null;
  const userId = typeof user?.id === "number" ? String(user.id) : undefined;
  return { login: `${slug}[bot]`, ...defined({ userId }) };
}

/** Waits until a person has installed the App. */
async function* waitForInstallation(
  connection: Resource<ConnectionSpec>,
  app: GitHubAppSpec,
  { host, signal }: Pick<Scene, "host" | "signal">,
): ConnectionWork<void> {
  const page = installPage(connection.spec, app);
  const { clock, forgeTokens } = host;
  const end = clock.monotonicMs() + INSTALL_MS;
  let isAsked = false;
  while (!signal.aborted) {
    const why = await forgeTokens.whyNotInstalled(connection, signal);
    if (why === undefined) {
      const all = await forgeTokens.installations(connection, signal);
      for (const one of all) yield { step: installedText(one) };
      return;
    }
    if (!isAsked) yield { step: `install it on the repositories that svc is for: ${page}` };
    isAsked = true;
    if (clock.monotonicMs() >= end) break;
    await clock.pause(ASK_EVERY_MS, signal);
  }
  yield { note: `the app is not installed yet, and sends no events until it is: ${page}` };
}

function installedText({ account, all, isSuspended }: Installation): string {
  const on = all ? "all repositories" : "some repositories";
  return `installed on ${account}: ${on}${isSuspended ? ", suspended" : ""}`;
}

function deletedMeanwhile(name: string): AppError {
  return new AppError("refused", `Connection "${name}" was deleted meanwhile: run this again`);
}
