/**
 * Apps of the fake GitHub: their registration from a manifest, their installations, tokens for some
 * repositories and rights, and the log of their webhook. It refuses what GitHub refuses.
 *
 * @module
 */

import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import {
  type FakeState,
  type FakeToken,
  page,
  problem,
  type Route,
  type RouteRequest,
} from "./github.ts";
import { type FakeHook, type HookRoutes, logged, raw, shown, summary } from "./github_hooks.ts";

export interface FakeApp {
  readonly id: number;
  readonly slug: string;
  readonly client_id: string;
  /** Account that owns it. */
  readonly owner: string;
  /** The private key as GitHub gives it, once; GitHub itself keeps the public half. */
  readonly pem: string;
  readonly keys: string[];
  readonly webhook_secret: string;
  readonly hook: FakeHook;
  readonly permissions: Readonly<Record<string, string>>;
}

export interface FakeInstallation {
  readonly id: number;
  readonly app: FakeApp;
  readonly account: string;
  /** Names without the account; all when absent. */
  repositories?: readonly string[];
  permissions: Readonly<Record<string, string>>;
  suspended: boolean;
}

/** A token of an installation, and its end. */
interface AppToken {
  readonly token: FakeToken;
  readonly endsAt: number;
  readonly installation: FakeInstallation;
}

/** A manifest as a form posts it. */
interface Manifest {
  readonly name?: string;
  readonly url?: string;
  readonly redirect_url?: string;
  readonly public?: boolean;
  readonly hook_attributes?: { readonly url?: string; readonly active?: boolean };
  readonly default_events?: readonly string[];
  readonly default_permissions?: Readonly<Record<string, string>>;
}

/** A new RSA key as GitHub makes one: PKCS#1. */
export function newAppKey(): string {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return privateKey.export({ type: "pkcs1", format: "pem" }).toString();
}

export class FakeApps {
  readonly apps: FakeApp[] = [];
  readonly installations: FakeInstallation[] = [];
  readonly #codes = new Map<string, FakeApp>();
  readonly #tokens: AppToken[] = [];
  readonly #state: FakeState;
  readonly #hooks: HookRoutes;

  constructor(state: FakeState, hooks: HookRoutes) {
    this.#state = state;
    this.#hooks = hooks;
    hooks.isInstalled = (hook, repository) =>
      this.installations.some((one) => one.app.hook === hook && covers(one, repository));
  }

  /** Registers an App; GitHub pings its webhook. */
  register(owner: string, manifest: Manifest): FakeApp {
    const id = this.#state.nextId();
    const slug = (manifest.name ?? `app-${id}`).toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
    const pem = newAppKey();
    const secret = `secret-of-${slug}`;
    const hook: FakeHook = {
      id,
      of: `app/${slug}`,
      name: "web",
      active: manifest.hook_attributes?.active !== false,
      events: [...manifest.default_events ?? [], "installation", "installation_repositories"],
      config: {
        url: manifest.hook_attributes?.url ?? "",
        content_type: "json",
        insecure_ssl: "0",
        secret,
      },
    };
    const app: FakeApp = {
      id,
      slug,
      client_id: `Iv23${id}`,
      owner,
      pem,
      keys: [pem],
      webhook_secret: secret,
      hook,
      permissions: { metadata: "read", ...manifest.default_permissions },
    };
    this.#hooks.hooks.set(id, hook);
    this.apps.push(app);
    const payload = JSON.stringify({ zen: "Design for failure.", hook_id: id });
    this.#hooks.deliver(hook, { event: "ping", payload });
    return app;
  }

  /** Installs an App, and tells it. */
  install(
    app: FakeApp,
    account: string,
    { repositories, permissions = app.permissions }: {
      readonly repositories?: readonly string[];
      readonly permissions?: Readonly<Record<string, string>>;
    } = {},
  ): FakeInstallation {
    const id = this.#state.nextId();
    const made: FakeInstallation = { id, app, account, permissions, suspended: false };
    if (repositories !== undefined) made.repositories = repositories;
    this.installations.push(made);
    return made;
  }

  /** Sends an event about an installation. */
  async tell(installation: FakeInstallation, action: string): Promise<void> {
    const { app, id, account } = installation;
    const payload = JSON.stringify({
      action,
      installation: { id, account: { login: account }, app_id: app.id },
      sender: { login: "ada", id: 77, type: "User" },
    });
    await this.#hooks.deliver(app.hook, { event: "installation", payload });
  }

  async suspend(installation: FakeInstallation): Promise<void> {
    installation.suspended = true;
    await this.tell(installation, "suspend");
  }

  /** The owner of a token of an installation; 401 once it has ended. */
  tokenOf(authorization: string): FakeToken | Response | undefined {
    const found = this.#tokens.find(({ token }) => authorization === `Bearer ${token.token}`);
    if (found === undefined) return undefined;
    const { token, endsAt, installation } = found;
    if (endsAt <= this.#now() || !this.installations.includes(installation)) {
      return problem(401, "Bad credentials");
    }
    return installation.suspended ? problem(403, "This installation has been suspended") : token;
  }

  /** The App that signed a JWT, by GitHub's rules. */
  asApp(authorization: string): FakeToken | Response {
    const [, head = "", claims = "", signature = ""] =
      /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(authorization) ?? [];
    const undecodable = problem(401, "A JSON web token could not be decoded");
    if (signature === "") return undecodable;
    const { alg } = JSON.parse(text(head));
    const { iss, iat, exp } = JSON.parse(text(claims));
    const app = this.apps.find(({ id, client_id }) => iss === client_id || iss === String(id));
    if (app === undefined || alg !== "RS256") return undecodable;
    const bytes = new TextEncoder().encode(`${head}.${claims}`);
    const isSigned = app.keys.some((pem) =>
      verify("sha256", bytes, createPublicKey(pem), Uint8Array.fromBase64(signature, URL_SAFE))
    );
    if (!isSigned) return undecodable;
    const now = this.#now() / 1000;
    if (!(exp > now)) return problem(401, "'Expiration time' claim ('exp') must be in the future");
    if (!(exp - iat <= 600) || exp > now + 600) {
      return problem(401, "'Expiration time' claim ('exp') is too far in the future");
    }
    if (!(iat <= now)) return problem(401, "'Issued at' claim ('iat') must be in the past");
    return { token: "", login: app.slug, id: app.id };
  }

  get routes(): readonly Route[] {
    const own = ({ token }: RouteRequest) => this.apps.find(({ id }) => id === token.id)!;
    const log = (app: FakeApp) =>
      this.#hooks.tries.filter((one) => one.hook === app.hook.id).reverse();
    return [
      {
        method: "POST",
        path: /^(?:\/organizations\/([^/]+))?\/settings\/apps\/new$/,
        by: "nobody", // a person's browser, with a session of the website
        answer: ({ match: [owner = "ada"], query, body }) => {
          const manifest = JSON.parse(String(body["manifest"])) as Manifest;
          const wrong = faultOf(manifest);
          if (wrong !== undefined) return problem(422, wrong);
          const code = crypto.randomUUID().replaceAll("-", "");
          this.#codes.set(code, this.register(owner, manifest));
          const to = new URL(manifest.redirect_url!);
          to.searchParams.set("code", code);
          to.searchParams.set("state", query.get("state") ?? "");
          return new Response(null, { status: 302, headers: { location: to.href } });
        },
      },
      {
        method: "POST",
        path: /^\/app-manifests\/([^/]+)\/conversions$/,
        by: "nobody",
        answer: ({ match: [code = ""] }) => {
          const app = this.#codes.get(code);
          this.#codes.delete(code); // each works once
          if (app === undefined) return problem(404, "Not Found");
          const { id, slug, client_id, owner, pem, webhook_secret, permissions } = app;
          return Response.json({
            id,
            slug,
            client_id,
            client_secret: "never needed",
            owner: { login: owner },
            pem,
            webhook_secret,
            permissions,
            html_url: `https://github.com/apps/${slug}`,
          }, { status: 201 });
        },
      },
      {
        method: "GET",
        path: /^\/app\/installations$/,
        by: "app",
        answer: (request) => {
          const found = this.installations.filter(({ app }) => app === own(request));
          return page(found.map(shownInstallation), request, "/app/installations");
        },
      },
      {
        method: "GET",
        path: /^\/repos\/([^/]+\/[^/]+)\/installation$/,
        by: "app",
        answer: (request) => {
          const [repository = ""] = request.match;
          const found = this.installations.find((one) =>
            one.app === own(request) && covers(one, repository)
          );
          return found === undefined
            ? problem(404, "Not Found")
            : Response.json(shownInstallation(found));
        },
      },
      {
        method: "POST",
        path: /^\/app\/installations\/([0-9]+)\/access_tokens$/,
        by: "app",
        answer: (request) => this.#makeToken(request, own(request)),
      },
      {
        method: "GET",
        path: /^\/app\/hook\/config$/,
        by: "app",
        answer: (request) => Response.json(shown(own(request).hook).config),
      },
      {
        method: "PATCH",
        path: /^\/app\/hook\/config$/,
        by: "app",
        answer: (request) => {
          const { hook } = own(request);
          hook.config = { ...hook.config, ...request.body };
          return Response.json(shown(hook).config);
        },
      },
      {
        method: "GET",
        path: /^\/app\/hook\/deliveries$/,
        by: "app",
        answer: (request) =>
          raw(page(log(own(request)).map(summary), request, "/app/hook/deliveries")),
      },
      {
        method: "GET",
        path: /^\/app\/hook\/deliveries\/([0-9]+)$/,
        by: "app",
        answer: (request) => {
          const found = log(own(request)).find(({ id }) => id === request.match[0]);
          return found === undefined ? problem(404, "Not Found") : logged(found);
        },
      },
      {
        method: "POST",
        path: /^\/app\/hook\/deliveries\/([0-9]+)\/attempts$/,
        by: "app",
        answer: (request) => {
          const app = own(request);
          const found = log(app).find(({ id }) => id === request.match[0]);
          if (found === undefined) return problem(404, "Not Found");
          const { event, payload, guid } = found;
          this.#hooks.deliver(app.hook, { event, payload, guid }, true);
          return Response.json({}, { status: 202 });
        },
      },
      {
        method: "GET",
        path: /^\/users\/([^/]+)%5Bbot%5D$/,
        by: "nobody", // users are public
        answer: ({ match: [slug] }) => {
          const found = this.apps.find((app) => app.slug === slug);
          return found === undefined ? problem(404, "Not Found") : Response.json(botOf(found));
        },
      },
    ];
  }

  #makeToken({ match: [id], body }: RouteRequest, app: FakeApp): Response {
    const found = this.installations.find((one) => one.app === app && one.id === Number(id));
    if (found === undefined) return problem(404, "Not Found");
    if (found.suspended) return problem(403, "This installation has been suspended");
    const names = body["repositories"] as readonly string[] | undefined;
    const rights = (body["permissions"] ?? found.permissions) as Readonly<Record<string, string>>;
    const repositories = names?.map((name) => `${found.account}/${name}`) ??
      [...this.#state.repositories.keys()].filter((name) => covers(found, name));
    const isKnown = (name: string) => this.#state.repositories.has(name) && covers(found, name);
    if (!repositories.every(isKnown)) {
      return problem(
        422,
        "There is at least one repository that does not exist or is not accessible",
      );
    }
    const given = Object.entries(rights);
    const isGranted = ([name, level]: readonly [string, string]) =>
      found.permissions[name] === level || found.permissions[name] === "write";
    if (!given.every(isGranted)) {
      return problem(422, "The permissions requested are not granted to this installation.");
    }
    const { login, id: user } = botOf(app);
    // No fixed length and form: GitHub has changed both.
    const text = `ghs_${app.id}_${crypto.randomUUID()}`;
    const granted = given.flatMap(([name, level]) =>
      level === "write" ? [`${name}=write`, `${name}=read`] : [`${name}=read`]
    );
    const token = { token: text, login, id: user, permissions: granted, repositories };
    const endsAt = this.#now() + 3600_000;
    this.#tokens.push({ token, endsAt, installation: found });
    return Response.json({
      token: text,
      expires_at: new Date(endsAt).toISOString(),
      permissions: { metadata: "read", ...rights },
      repository_selection: "selected",
      repositories: repositories.map((full_name) => ({ full_name })),
    }, { status: 201 });
  }

  #now(): number {
    return Date.parse(this.#state.now());
  }
}

const URL_SAFE = { alphabet: "base64url" } as const;

function text(part: string): string {
  return new TextDecoder().decode(Uint8Array.fromBase64(part, URL_SAFE));
}

function covers({ account, repositories }: FakeInstallation, repository: string): boolean {
  const [owner, name = ""] = repository.split("/");
  return owner === account && (repositories === undefined || repositories.includes(name));
}

function shownInstallation(
  { id, account, suspended, permissions, repositories, app }: FakeInstallation,
) {
  return {
    id,
    account: { login: account },
    app_id: app.id,
    suspended_at: suspended ? "2026-01-01T00:00:00Z" : null,
    permissions,
    repository_selection: repositories === undefined ? "all" : "selected",
  };
}

/** The user as which an App writes. */
export function botOf({ slug, id }: FakeApp) {
  return { login: `${slug}[bot]`, id: 900_000 + id, type: "Bot" };
}

/** Why GitHub refuses a manifest. */
function faultOf(manifest: Manifest): string | undefined {
  const { name = "", url, redirect_url: back, default_events: events = [] } = manifest;
  if (name === "" || name.length > 34) return "Name is too long (maximum is 34 characters)";
  if (url === undefined || back === undefined) return "url and redirect_url are required";
  const needed: Readonly<Record<string, string>> = {
    push: "contents",
    release: "contents",
    issue_comment: "issues",
    issues: "issues",
    pull_request: "pull_requests",
  };
  const lacking = events.find((event) =>
    event in needed && manifest.default_permissions?.[needed[event]!] === undefined
  );
  return lacking === undefined ? undefined : `Default events unsupported: ${lacking}`;
}
