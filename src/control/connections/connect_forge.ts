/**
 * `svc connect` for a forge, from a token to events that arrive: top to bottom in one function. Run
 * again, it finds what it made, repairs what was changed since, and changes nothing else.
 *
 * @module
 */

import type { Connected, ConnectedHook } from "../../api/connection_operations.ts";
import type { ApplyOutcome } from "../../api/resource_operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { shortDuration } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import { FORGE_WORDS, type ForgeName } from "../../base/forge_names.ts";
import type { ApiAccess } from "../../connections/api/api_call.ts";
import type { EnsuredHook, ForgeHooks, Hook } from "../../connections/api/hooks.ts";
import { isToken, readToken } from "../../connections/find_connection.ts";
import type { ForgeLogs } from "../../intake/forge_logs.ts";
import { webhookPath } from "../../intake/webhook_path.ts";
import {
  connectedTo,
  type ConnectionHook,
  type ConnectionSpec,
  hooksOf,
} from "../../resources/connection.ts";
import { defaultConnectionName } from "../../resources/names.ts";
import { DEFAULT_PROJECT, type Resource } from "../../resources/resource.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { ConnectionStore } from "../../store/connection_store.ts";
import { apply, type ApplyHost } from "../resources/apply.ts";
import {
  connectionFile,
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
  readonly forgeLogs: Pick<ForgeLogs, "run">;
}

/** The connection to make, as a person asks for it. */
export interface ForgeInput {
  /** The repository, or its owner. */
  readonly to: string;
  readonly name?: string;
  readonly project?: string;
  readonly api?: string;
  readonly url?: string;
  readonly pull?: boolean;
  readonly endpoint?: string;
  readonly events?: readonly string[];
  readonly token?: string;
}

/** The connection to make, computed from the input and the resources alone. */
export interface ForgePlan {
  readonly project: string;
  readonly name: string;
  readonly api: string;
  /** Base of the addresses of its webhooks. */
  readonly base: string;
  readonly events: "push" | "pull";
  readonly known: Resource<ConnectionSpec> | undefined;
  readonly receiving: Receiving;
  readonly tokenAt: { readonly store: string; readonly key: string };
  readonly token: string;
}

/** A place that has webhooks, with those that exist. */
export interface HookPlace {
  /** `project` of the webhooks of a Connection to a group. */
  readonly project?: string;
  readonly hooks: ForgeHooks;
  readonly known: readonly Hook[];
}

/** The owner of a token, and what the token may see. */
export interface CheckedToken {
  readonly login: string;
  readonly userId: string;
  /** Milliseconds since the epoch; absent for a token without an end, or if it is not known. */
  readonly endsAt?: number;
  /** The spec of the Connection, without its webhooks, with names as the forge writes them. */
  readonly spec: ConnectionSpec;
  readonly places: readonly HookPlace[];
  /** What else a person should know. */
  readonly notes: readonly string[];
}

/** What is special about a forge. */
export interface ForgeConnecting {
  readonly forge: ForgeName;
  readonly packageEvents: readonly string[];
  /** What it means where the forge does not sign; absent where it always does. */
  readonly unsigned?: string;
  /** A random secret, with which the forge is to sign. */
  readonly newSecret: () => string;
  /** Why the plan cannot be; `undefined` if it can. */
  readonly whyNot: (plan: ForgePlan) => string | undefined;
  /**
   * Checks the token before anything is created with it.
   *
   * @throws {AppError} `refused` with what is wrong: the token, a right it lacks, the name;
   * `overloaded` when a later try may succeed.
   */
  readonly check: (plan: ForgePlan, access: ApiAccess) => Promise<CheckedToken>;
}

/** Where the steps of this work happen. */
interface Scene {
  readonly way: ForgeConnecting;
  readonly plan: ForgePlan;
  readonly caller: Caller;
  readonly host: ConnectHost;
  readonly signal: AbortSignal;
}

/** @throws {AppError} `usage`, `refused` or `overloaded`, with what is wrong and what to do. */
export async function* connectForge(
  input: ForgeInput,
  way: ForgeConnecting,
  { caller, host, signal }: Pick<Scene, "caller" | "host" | "signal">,
): ConnectionWork<Connected> {
  const plan = toPlan(input, way, host);
  const scene: Scene = { way, plan, caller, host, signal };
  const { api, name, project, token, receiving } = plan;
  const access: ApiAccess = { api, token: () => token, clock: host.clock, signal };
  const checked = await way.check(plan, access);
  const { spec } = checked;
  yield { step: tokenText(checked, host.clock.now()) };
  for (const note of checked.notes) yield { note };
  const secret = signingSecret(plan, way);
  const applied = await applyFiles(
    [
      ...receiving.files,
      secretFile(secret, host.catalog),
      secretFile(tokenSecret(plan), host.catalog),
      connectionFile(plan, spec, plan.known),
    ],
    scene,
  );
  if (receiving.installs) yield { step: `package ${way.forge} installed` };
  const value = valueOf(secret, host.catalog);
  const ensured = await ensureHooks(input, { checked, secret: value }, scene).catch(
    async (error) => {
      await undo(scene);
      throw error;
    },
  );
  for (const one of ensured) yield { step: hookText(one) };
  if (way.unsigned !== undefined && ensured.some(({ hook }) => hook.isSigned !== true)) {
    yield { note: way.unsigned };
  }
  const hooks = ensured.map(({ endpoint, hook, project }) => (
    { endpoint, id: hook.id, ...defined({ project }) }
  ));
  const verifies = ensured.at(-1)?.secret ?? value;
  const ended = await applyFiles(
    [
      // The forge may know another sort of secret than the one that it was given.
      ...verifies === value
        ? []
        : [secretFile({ ...secret, value: verifies, replace: true }, host.catalog)],
      connectionFile(plan, withHooks(spec, hooks), host.catalog.find("Connection", project, name)),
    ],
    scene,
  );
  await noteConnected(plan, { checked, ensured }, host);
  for (const warning of applied.warnings) yield { note: warning };
  const check = plan.events === "pull" ? null : yield* checkWay(ensured, scene);
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

function toPlan(input: ForgeInput, way: ForgeConnecting, host: ConnectHost): ForgePlan {
  const { catalog } = host;
  const { forge } = way;
  const { project = DEFAULT_PROJECT, to } = input;
  const name = input.name ?? defaultConnectionName(to);
  const known = catalog.find<ConnectionSpec>("Connection", project, name);
  if (known !== undefined && !isSameTo(known.spec, forge, to)) {
    const message =
      `Connection "${name}" is to ${connectedTo(known.spec)}: give this one another ` +
      "name with --name";
    throw new AppError("refused", message);
  }
  const { events, api, base } = wayOf(input, known, forge);
  const receiving = receivingOf({ project, endpoint: input.endpoint, forge }, catalog);
  const tokenAt = tokenStoreOf({ project, name }, known, { signing: receiving.store, catalog });
  const token = input.token ??
    readToken({ project, name }, { fromSecret: tokenAt }, host.catalog);
  if (!isToken(token)) {
    throw new AppError("invalid", "The token has characters that tokens cannot have");
  }
  const plan = { project, name, api, base, events, known, receiving, tokenAt, token };
  const why = way.whyNot(plan);
  if (why !== undefined) throw new AppError("refused", why);
  return plan;
}

function isSameTo(spec: ConnectionSpec, forge: ForgeName, to: string): boolean {
  return spec[forge] !== undefined && (spec.github?.app !== undefined ||
    connectedTo(spec).toLowerCase() === to.toLowerCase());
}

/** The secret with which the forge signs: one for each Connection, under the Connection's name. */
function signingSecret({ project, name, receiving }: ForgePlan, way: ForgeConnecting): SecretToSet {
  const labels = receiving.installs ? { integration: way.forge } : undefined;
  return {
    project,
    store: receiving.store,
    key: name,
    value: way.newSecret(),
    replace: false,
    ...defined({ labels }),
  };
}

function tokenSecret({ project, tokenAt, token }: ForgePlan): SecretToSet {
  return { project, ...tokenAt, value: token, replace: true };
}

function withHooks(
  { github, gitlab, ...rest }: ConnectionSpec,
  hooks: readonly ConnectionHook[],
): ConnectionSpec {
  return {
    ...rest,
    ...defined({
      github: github && { ...github, hooks: [...hooks] },
      gitlab: gitlab && { ...gitlab, hooks: [...hooks] },
    }),
  };
}

async function applyFiles(
  files: Parameters<typeof apply>[0]["files"],
  { plan, caller, host }: Scene,
) {
  const { project } = plan;
  return await apply({ files: [...files], project, dry_run: false }, caller, host);
}

/** Deletes what was applied for a Connection whose webhooks could not be made. */
async function undo({ plan: { project, name, known, receiving }, caller, host }: Scene) {
  const made = host.catalog.find<ConnectionSpec>("Connection", project, name);
  if (known !== undefined || made === undefined) return;
  await deleteResources(made, { all: receiving.installs, caller, host });
}

/** A webhook of one endpoint. */
interface EndpointHook extends EnsuredHook, Pick<ConnectedHook, "endpoint"> {
  readonly project?: string;
  readonly hooks: ForgeHooks;
  /** A time before the webhook was created or changed, in milliseconds since the epoch. */
  readonly since: number;
}

async function ensureHooks(
  { events }: ForgeInput,
  { checked, secret }: { readonly checked: CheckedToken; readonly secret: string },
  { way, plan, host }: Scene,
): Promise<EndpointHook[]> {
  const { base, project, known, receiving } = plan;
  const ensured: EndpointHook[] = [];
  for (const place of checked.places) {
    const had = known === undefined ? [] : hooksOf(known.spec);
    for (const endpoint of receiving.endpoints) {
      const since = host.clock.now();
      const url = `${base}${webhookPath({ project, name: endpoint })}`;
      const id = had.find((hook) => hook.endpoint === endpoint && hook.project === place.project)
        ?.id;
      const wanted = {
        url,
        secret: ensured.at(-1)?.secret ?? secret,
        events: events ?? way.packageEvents,
      };
      const one = await place.hooks.ensure({ wanted, known: place.known, id });
      const { hooks, project: of } = place;
      ensured.push({ ...one, endpoint, hooks, since, ...defined({ project: of }) });
    }
  }
  return ensured;
}

function hookText({ endpoint, project, hook, hooks, action, changes }: EndpointHook): string {
  const of = project === undefined ? "" : ` of ${project}`;
  const what = `webhook ${hook.id}${of} of endpoint ${endpoint}`;
  if (action === "configured") return `${what} repaired: ${changes.join(", ")}`;
  const page = hooks.page(hook.id);
  return `${what} ${action}: ${hook.events.join(", ")} to ${hook.url}${
    page === "" ? "" : `, ${page}`
  }`;
}

function tokenText({ login, endsAt }: CheckedToken, now: number): string {
  const end = endsAt === undefined ? "" : `, expires in ${shortDuration(endsAt - now)}`;
  return `token of ${login}${end}`;
}

async function noteConnected(
  { project, name, known }: ForgePlan,
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
  scene: Scene,
): AsyncGenerator<{ readonly step: string }, NonNullable<Connected["check"]>, undefined> {
  const { title } = FORGE_WORDS[scene.way.forge];
  for (const one of ensured) {
    yield { step: `waiting for the ping of ${title}, 30 s at most` };
    const wrong = await pingOnce(one, scene);
    const again = wrong?.fault === "secret" ? await setSecret(one, scene) : wrong;
    if (again !== undefined) return { ok: false, ...again };
    if (wrong !== undefined) {
      yield { step: `${title} signed with another secret: svc set it again` };
    }
  }
  return { ok: true, fault: null, message: "The ping arrived" };
}

async function pingOnce(
  { endpoint, hook, hooks, action, since, secret }: EndpointHook,
  { plan, host, signal }: Scene,
) {
  const { project, name } = plan;
  const log = hooks.log(hook.id);
  const isNew = action === "created" && hooks.pingsNew;
  const before = isNew ? new Set<string>() : await loggedBefore(log);
  const started = isNew ? since : host.clock.now();
  if (!isNew) await hooks.ping(hook.id);
  const where = { log, url: hook.url, project, endpoint };
  return await waitForPing(
    { ...where, key: name, secret, since: started, before, signal },
    host,
  );
}

/** Sets the secret at the forge once more, and pings again. */
async function setSecret(one: EndpointHook, scene: Scene) {
  const { hook, hooks, secret } = one;
  await hooks.set(hook, { url: hook.url, secret, events: hook.events });
  return await pingOnce({ ...one, action: "configured" }, scene);
}
