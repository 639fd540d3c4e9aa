/**
 * `svc connect github`, from a token to events that arrive: top to bottom in one function. Run
 * again, it finds what it made, repairs what was changed since, and changes nothing else.
 *
 * @module
 */

import type { Connected, ConnectedHook } from "../../api/connection_operations.ts";
import type { Input } from "../../api/operations.ts";
import type { ApplyOutcome } from "../../api/resource_operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { PACKAGE_EVENTS } from "../../base/github_names.ts";
import { shortDuration } from "../../base/duration.ts";
import { isToken, readToken } from "../../connections/find_connection.ts";
import type { ApiAccess } from "../../connections/api/api_call.ts";
import {
  type EnsuredHook,
  ensureHook,
  type HookOwner,
  hookPage,
  isGitea,
  ping,
  setHook,
} from "../../connections/github/hooks.ts";
import { webhookPath } from "../../intake/webhook_path.ts";
import { connectedTo, type ConnectionSpec } from "../../resources/connection.ts";
import { defaultConnectionName } from "../../resources/names.ts";
import { DEFAULT_PROJECT, type Resource } from "../../resources/resource.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { ConnectionStore } from "../../store/connection_store.ts";
import { apply, type ApplyHost } from "../resources/apply.ts";
import type { GitHubLogs } from "../../intake/github_logs.ts";
import { type CheckedToken, checkToken } from "./check_token.ts";
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
import { deleteResources, type DisconnectHost } from "./disconnect.ts";
import type { ConnectionWork } from "./lines.ts";
import { loggedBefore, type PingHost, waitForPing } from "./wait_for_ping.ts";

/** The resources of a daemon, and the webhooks that reach it. */
export interface ConnectHost extends ApplyHost, DisconnectHost {
  readonly secrets: KnownSecrets;
  readonly store:
    & ApplyHost["store"]
    & ConnectionStore
    & PingHost["store"]
    & DisconnectHost["store"];
  readonly status: PingHost["status"];
  readonly githubLogs: Pick<GitHubLogs, "run">;
}

type ConnectInput = Input<"connect.github">;

/**
 * An address at which no server answers: names below `.invalid` are reserved for that (RFC 6761).
 */

/** The connection to make, computed from the input and the resources alone. */
interface Plan {
  readonly project: string;
  readonly name: string;
  readonly api: string;
  readonly owner: HookOwner;
  /** Base of the addresses of its webhooks. */
  readonly base: string;
  readonly events: "push" | "pull";
  readonly known: Resource<ConnectionSpec> | undefined;
  readonly receiving: Receiving;
  readonly tokenAt: { readonly store: string; readonly key: string };
  readonly token: string;
}

/** @throws {AppError} `usage`, `refused` or `overloaded`, with what is wrong and what to do. */
export async function* connectGitHub(
  input: ConnectInput,
  caller: Caller,
  host: ConnectHost,
  signal: AbortSignal,
): ConnectionWork<Connected> {
  const plan = toPlan(input, host);
  const { api, name, project, token } = plan;
  const access: ApiAccess = { api, token: () => token, clock: host.clock, signal };
  const checked = await checkToken(access, plan.owner);
  const owner = checked.owner;
  yield { step: tokenText(checked, host.clock.now()) };
  const secret = signingSecret(plan);
  const spec = specOf(plan, owner);
  const applied = await applyFiles(
    [
      ...plan.receiving.files,
      secretFile(secret, host.catalog),
      secretFile(tokenSecret(plan), host.catalog),
      connectionFile(plan, spec, plan.known),
    ],
    { plan, caller, host },
  );
  if (plan.receiving.installs) yield { step: "package github installed" };
  const at = { access, owner, plan, secret: valueOf(secret, host.catalog), checked, signal };
  const ensured = await ensureHooks(input, at).catch(async (error) => {
    await undo(plan, caller, host);
    throw error;
  });
  for (const one of ensured) yield { step: hookText(one, api, owner) };
  const hooks = ensured.map(({ endpoint, hook }) => ({ endpoint, id: hook.id }));
  const ended = await applyFiles(
    [connectionFile(plan, withHooks(spec, hooks), host.catalog.find("Connection", project, name))],
    { plan, caller, host },
  );
  await noteConnected(plan, { checked, ensured }, host);
  for (const warning of applied.warnings) yield { note: warning };
  const check = plan.events === "pull" ? null : yield* checkWay(ensured, at, host);
  return {
    name,
    project,
    to: connectedTo(spec),
    events: plan.events,
    login: checked.login,
    token_expires_at: checked.endsAt === undefined ? null : rfc3339(checked.endsAt),
    resources: joined(applied.results, ended.results),
    hooks: ensured.map(({ endpoint, hook, action }) => (
      { endpoint, id: hook.id, url: hook.url, action }
    )),
    check,
  };
}

/** Joins the outcomes of two applies, which may both have changed the same resource. */
function joined(
  first: readonly ApplyOutcome[],
  second: readonly ApplyOutcome[],
): readonly ApplyOutcome[] {
  return first.map((one) => {
    const again = second.find(({ name }) => name === one.name);
    return one.action === "unchanged" && again !== undefined ? again : one;
  });
}

function toPlan(input: ConnectInput, host: ConnectHost): Plan {
  const { catalog } = host;
  const { project = DEFAULT_PROJECT, repository, organization } = input;
  if ((repository === undefined) === (organization === undefined)) {
    throw new AppError("usage", "Name one repository or one organization");
  }
  const to = repository ?? organization ?? "";
  const name = input.name ?? defaultConnectionName(to);
  const known = catalog.find<ConnectionSpec>("Connection", project, name);
  if (known !== undefined && !isSameTo(known.spec, to)) {
    const message =
      `Connection "${name}" is to ${connectedTo(known.spec)}: give this one another ` +
      "name with --name";
    throw new AppError("refused", message);
  }
  if (known?.spec.github?.app !== undefined) {
    const message =
      `Connection "${name}" is to an app: run svc connect github --app, or give this ` +
      "one another name with --name";
    throw new AppError("refused", message);
  }
  const { events, api, base } = wayOf(input, known);
  if (events === "pull" && isGitea(api)) {
    const message =
      "Gitea and Forgejo keep no log of what they sent, so --pull cannot read it: give the " +
      "address at which they reach the daemon with --url";
    throw new AppError("refused", message);
  }
  const receiving = receivingOf({ project, endpoint: input.endpoint }, catalog);
  const tokenAt = tokenStoreOf({ project, name }, known, { signing: receiving.store, catalog });
  const token = input.token ?? storedToken({ project, name }, tokenAt, host);
  if (!isToken(token)) {
    throw new AppError("invalid", "The token has characters that tokens cannot have");
  }
  return {
    project,
    name,
    api,
    owner: repository === undefined ? { organization } : { repository },
    base,
    events,
    known,
    receiving,
    tokenAt,
    token,
  };
}

function isSameTo({ github }: ConnectionSpec, to: string): boolean {
  const is = github?.repository ?? github?.organization;
  return is?.toLowerCase() === to.toLowerCase();
}

function storedToken(
  at: { readonly project: string; readonly name: string },
  { store, key }: Plan["tokenAt"],
  { catalog }: ConnectHost,
): string {
  return readToken(at, { fromSecret: { store, key } }, catalog);
}

/**
 * The secret with which GitHub signs: one value for each Connection, under the Connection's name.
 */
function signingSecret({ project, name, receiving }: Plan): SecretToSet {
  const labels = receiving.installs ? { integration: "github" } : undefined;
  return {
    project,
    store: receiving.store,
    key: name,
    value: newSecret(),
    replace: false,
    ...defined({ labels }),
  };
}

function tokenSecret({ project, tokenAt, token }: Plan): SecretToSet {
  return { project, ...tokenAt, value: token, replace: true };
}

function specOf(
  { known, owner: wanted, api, events, tokenAt }: Plan,
  owner: HookOwner,
): ConnectionSpec {
  const { repository, organization } = { ...wanted, ...owner };
  const github = {
    ...known?.spec.github,
    ...defined({ repository, organization }),
    ...(api === "https://api.github.com" ? {} : { api }),
    token: { fromSecret: tokenAt },
    ...(events === "push" && known?.spec.github?.events === undefined ? {} : { events }),
  };
  return { ...known?.spec, github };
}

function withHooks(
  { github, ...rest }: ConnectionSpec,
  hooks: readonly { readonly endpoint: string; readonly id: number }[],
): ConnectionSpec {
  return github === undefined ? rest : { ...rest, github: { ...github, hooks: [...hooks] } };
}

async function applyFiles(
  files: Parameters<typeof apply>[0]["files"],
  { plan, caller, host }: { plan: Plan; caller: Caller; host: ConnectHost },
) {
  const { project } = plan;
  return await apply({ files: [...files], project, dry_run: false }, caller, host);
}

/** Deletes what was applied for a Connection whose webhooks could not be made. */
async function undo(
  { project, name, known, receiving }: Plan,
  caller: Caller,
  host: ConnectHost,
): Promise<void> {
  const made = host.catalog.find<ConnectionSpec>("Connection", project, name);
  if (known !== undefined || made === undefined) return;
  await deleteResources(made, { all: receiving.installs, caller, host });
}

/** The webhooks to make, and the token that makes them. */
interface HookSetup {
  readonly access: ApiAccess;
  readonly owner: HookOwner;
  readonly plan: Plan;
  /** The secret with which GitHub signs. */
  readonly secret: string;
  readonly checked: CheckedToken;
  readonly signal: AbortSignal;
}

/** A webhook of one endpoint, and the entries that its log had before it was pinged. */
interface EndpointHook extends EnsuredHook, Pick<ConnectedHook, "endpoint"> {
  /** A time before the webhook was created or changed, in milliseconds since the epoch. */
  readonly since: number;
}

async function ensureHooks(
  { events = PACKAGE_EVENTS }: Pick<ConnectInput, "events">,
  { access, owner, plan, secret, checked }: HookSetup,
): Promise<EndpointHook[]> {
  const { base, project, known, receiving } = plan;
  const ensured: EndpointHook[] = [];
  for (const endpoint of receiving.endpoints) {
    const since = access.clock.now();
    const url = `${base}${webhookPath({ project, name: endpoint })}`;
    const id = known?.spec.github?.hooks?.find((hook) => hook.endpoint === endpoint)?.id;
    const wanted = { url, secret, events };
    ensured.push({
      ...await ensureHook(access, owner, { wanted, known: checked.hooks, id }),
      endpoint,
      since,
    });
  }
  return ensured;
}

function hookText(
  { endpoint, hook, action, changes }: EndpointHook,
  api: string,
  owner: HookOwner,
): string {
  const what = `webhook ${hook.id} of endpoint ${endpoint}`;
  if (action === "configured") return `${what} repaired: ${changes.join(", ")}`;
  const page = isGitea(api) ? "" : `, ${hookPage(api, owner, hook.id)}`;
  return `${what} ${action}: ${hook.events.join(", ")} to ${hook.url}${page}`;
}

function tokenText({ login, endsAt }: CheckedToken, now: number): string {
  const end = endsAt === undefined ? "" : `, expires in ${shortDuration(endsAt - now)}`;
  return `token of ${login}${end}`;
}

async function noteConnected(
  { project, name, known }: Plan,
  { checked, ensured }: { checked: CheckedToken; ensured: readonly EndpointHook[] },
  { store, catalog, clock, secrets }: ConnectHost,
): Promise<void> {
  const made = catalog.find("Connection", project, name);
  if (made === undefined) return; // deleted meanwhile
  // Deliveries from before svc created the webhook do not count as missed.
  const fresh = ensured.filter(({ action }) => action === "created" || known === undefined);
  await store.noteConnection(made, {
    login: secrets.redact(checked.login),
    userId: checked.userId,
    tokenEndsAt: checked.endsAt ?? null,
    fault: null,
    marks: Object.fromEntries(fresh.map(({ hook, since }) => [String(hook.id), since])),
  }, clock.now());
}

/** Pings each webhook, and waits until the ping arrives here. */
async function* checkWay(
  ensured: readonly EndpointHook[],
  at: HookSetup,
  host: ConnectHost,
): AsyncGenerator<{ readonly step: string }, NonNullable<Connected["check"]>, undefined> {
  for (const one of ensured) {
    yield { step: "waiting for the ping of GitHub, 30 s at most" };
    const wrong = await pingOnce(one, at, host);
    const again = wrong?.fault === "secret" ? await setSecret(one, at, host) : wrong;
    if (again !== undefined) return { ok: false, ...again };
    if (wrong !== undefined) yield { step: "GitHub signed with another secret: svc set it again" };
  }
  return { ok: true, fault: null, message: "The ping arrived" };
}

async function pingOnce(
  { endpoint, hook, action, since }: EndpointHook,
  { access, owner, plan, secret, signal }: HookSetup,
  host: ConnectHost,
) {
  const { project, name } = plan;
  const isNew = action === "created" && !isGitea(access.api);
  const before = isNew ? new Set<string>() : await loggedBefore(access, owner, hook.id);
  const started = isNew ? since : host.clock.now();
  if (!isNew) await ping(access, owner, hook.id); // GitHub pings a new webhook by itself
  const where = { access, owner, hook: hook.id, url: hook.url, project, endpoint };
  return await waitForPing(
    { ...where, key: name, secret, since: started, before, signal },
    host,
  );
}

/** Sets the secret at GitHub once more, and pings again. */
async function setSecret(one: EndpointHook, at: HookSetup, host: ConnectHost) {
  const { access, owner, secret } = at;
  const { hook } = one;
  await setHook(access, owner, { hook, wanted: { url: hook.url, secret, events: hook.events } });
  return await pingOnce({ ...one, action: "configured" }, at, host);
}
