/**
 * A server with the part of GitHub's REST API that svc uses (https://docs.github.com/en/rest). It
 * keeps the requests that arrived, and a test can make it refuse, slow down or lose answers.
 *
 * @module
 */

import { FakeApps } from "./github_app.ts";
import { type HookRoutes, hookRoutes } from "./github_hooks.ts";
import { issueRoutes } from "./github_issue_routes.ts";
import { FakeIssues } from "./github_issues.ts";
import { FakeReviews } from "./github_reviews.ts";

/** A token, and what it may do. */
export interface FakeToken {
  readonly token: string;
  /** Login of its owner. */
  readonly login: string;
  readonly id: number;
  /** Fine-grained permissions, such as `issues=write`; all when absent. */
  readonly permissions?: readonly string[];
  /** Value of `github-authentication-token-expiration`. */
  readonly expires?: string;
  /** The repositories that it may see; all when absent. */
  readonly repositories?: readonly string[];
}

/** One request that arrived. */
export interface FakeCall {
  readonly method: string;
  /** Path below the base URL, with its query. */
  readonly path: string;
  /** Parsed body; `undefined` where there was none. */
  readonly body: unknown;
  /** Status of the answer. */
  status: number;
}

/** A request as a route sees it. */
export interface RouteRequest {
  readonly method: string;
  /** Matches of the groups of `path`. */
  readonly match: readonly string[];
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
  readonly token: FakeToken;
  /** Base URL of the API. */
  readonly url: string;
  readonly headers: Headers;
}

export interface Route {
  readonly method: string;
  /** Matches the path below the base URL. */
  readonly path: RegExp;
  /** Permission it needs, as GitHub names it. */
  readonly needs?: string;
  /** `app`: the JWT of an App; `nobody`: it needs no token. */
  readonly by?: "app" | "nobody";
  /** `undefined` leaves the call to the next route. */
  readonly answer: (
    request: RouteRequest,
  ) => Response | undefined | Promise<Response | undefined>;
}

export interface FakeRepository {
  readonly full_name: string;
  readonly private?: boolean;
  /** `main` if absent. */
  readonly default_branch?: string;
  /** Permission of each login; `read` where it is not named. */
  readonly permissions?: Readonly<
    Record<string, "admin" | "maintain" | "write" | "triage" | "read">
  >;
}

/** State that the routes share. */
export interface FakeState {
  readonly repositories: Map<string, FakeRepository>;
  /** New names by old ones: calls with an old one are sent elsewhere. */
  readonly renamed: Map<string, string>;
  /** A new number at each call. */
  readonly nextId: () => number;
  /** The time as RFC 3339; {@linkcode FakeGitHub.setNow} moves it. */
  readonly now: () => string;
}

/** Answers in the place of a route, or leaves it to the route. */
export type Interference = (
  call: FakeCall,
  /** Carries the call out and returns its answer, so that a test can lose it. */
  carryOut: () => Promise<Response>,
) => Response | Promise<Response> | undefined;

/** Options of {@linkcode fakeGitHub}. */
export interface FakeOptions {
  readonly tokens?: readonly FakeToken[];
  readonly repositories?: readonly FakeRepository[];
  /** Path of the API below the host, such as `/api/v1`; none when absent. */
  readonly base?: string;
  readonly routes?: (state: FakeState) => readonly Route[];
  /** Answers requests whose body is not JSON; `undefined` leaves one to the routes. */
  readonly raw?: (request: RawRequest) => (() => Promise<Response>) | undefined;
}

/** A request that no route answers. */
export interface RawRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Whom a token stands for, or why it is refused. */
  readonly find: (token: string) => FakeToken | Response | undefined;
}

/** A stand-in for GitHub's API. */
export interface FakeGitHub extends AsyncDisposable {
  /** Base URL, for `api:` of a Connection. */
  readonly url: string;
  readonly calls: FakeCall[];
  readonly state: FakeState;
  readonly hooks: HookRoutes;
  readonly issues: FakeIssues;
  readonly apps: FakeApps;
  readonly reviews: FakeReviews;
  /** Called for each request before its route; the last one set counts. */
  interfere: Interference | undefined;
  setNow(rfc3339: string): void;
}

/** The token when a test names none. */
export const TOKEN: FakeToken = { token: "ghp_fake0123456789", login: "svc-bot", id: 4242 };

export function fakeGitHub(options: FakeOptions = {}): FakeGitHub {
  const { base = "", tokens = [TOKEN] } = options;
  const repositories = options.repositories ??
    [{ full_name: "brightwater/tidepool", permissions: { "svc-bot": "admin" } }];
  let lastId = 1000;
  let fixed: string | undefined;
  const state: FakeState = {
    repositories: new Map(repositories.map((one) => [one.full_name, one])),
    renamed: new Map(),
    nextId: () => ++lastId,
    now: () => fixed ?? new Date().toISOString(),
  };
  const hooks = hookRoutes(state);
  const issues = new FakeIssues(state, hooks);
  const apps = new FakeApps(state, hooks);
  const reviews = new FakeReviews(issues, state, hooks);
  const routes = [
    ...apps.routes,
    ...accountRoutes(state),
    ...hooks.routes,
    ...options.routes?.(state) ?? [],
    ...issues.routes,
    ...issueRoutes(issues, state),
    ...reviews.routes,
  ];
  const calls: FakeCall[] = [];
  const fake = { interfere: undefined as Interference | undefined };
  const ended = new AbortController();
  const server: Deno.HttpServer<Deno.NetAddr> = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, signal: ended.signal },
    async (request) => {
      const address = new URL(request.url);
      const { method, headers: sent } = request;
      const bytes = await request.bytes();
      const find = (token: string) => findToken(`Bearer ${token}`, { tokens, apps });
      const raw = options.raw?.({ method, url: address, headers: sent, body: bytes, find });
      const pathname = raw === undefined ? address.pathname.slice(base.length) : address.pathname;
      const body = raw === undefined ? bodyOf(bytes, sent) : undefined;
      const call: FakeCall = { method, path: `${pathname}${address.search}`, body, status: 0 };
      calls.push(call);
      const carryOut = raw ?? (() => route(call, sent, { routes, tokens, apps, url, state }));
      const answer: Response = await (fake.interfere?.(call, carryOut) ?? carryOut());
      call.status = answer.status;
      // The runtime updates the `Date` of its answers once a second; GitHub's is exact.
      const headers = new Headers(answer.headers);
      if (!headers.has("date")) headers.set("date", new Date().toUTCString());
      return new Response(answer.body, { status: answer.status, headers });
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}${base}`;
  return Object.assign(fake, {
    url,
    calls,
    state,
    hooks,
    issues,
    apps,
    reviews,
    setNow(rfc3339: string) {
      fixed = rfc3339;
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      await server.finished;
      await hooks.rest();
    },
  });
}

/** The parsed body of a request; `undefined` where there is none. */
function bodyOf(bytes: Uint8Array, headers: Headers): unknown {
  const text = new TextDecoder().decode(bytes);
  if (text === "") return undefined;
  return headers.get("content-type")?.startsWith("application/x-www-form") === true
    ? Object.fromEntries(new URLSearchParams(text))
    : JSON.parse(text);
}

/** Whom an authorization stands for, or why it is refused. */
function findToken(
  authorization: string,
  { tokens, apps }: { readonly tokens: readonly FakeToken[]; readonly apps: FakeApps },
): FakeToken | Response | undefined {
  return tokens.find((one) => authorization === `Bearer ${one.token}`) ??
    apps.tokenOf(authorization);
}

async function route(
  call: FakeCall,
  headers: Headers,
  { routes, tokens, apps, url, state }: {
    readonly routes: readonly Route[];
    readonly tokens: readonly FakeToken[];
    readonly apps: FakeApps;
    readonly url: string;
    readonly state: FakeState;
  },
): Promise<Response> {
  const authorization = headers.get("authorization") ?? "";
  const [path = "", query = ""] = call.path.split("?");
  const known = findToken(authorization, { tokens, apps });
  const [, repository = ""] = /^\/repos\/([^/]+\/[^/]+)/.exec(path) ?? [];
  if (state.renamed.has(repository)) {
    return problem(301, "Moved Permanently", { location: `${url}/repositories/1${path}` });
  }
  for (const one of routes) {
    const match = one.method === call.method ? one.path.exec(path) : null;
    if (match === null) continue;
    const token = one.by === "app"
      ? apps.asApp(authorization)
      : one.by === "nobody"
      ? NOBODY
      : known;
    if (token === undefined) return problem(401, "Bad credentials");
    if (token instanceof Response) return token;
    if (repository !== "" && token.repositories?.includes(repository) === false) {
      return problem(404, "Not Found");
    }
    if (one.needs !== undefined && token.permissions?.includes(one.needs) === false) {
      return problem(403, "Resource not accessible by personal access token", {
        "x-accepted-github-permissions": one.needs,
      });
    }
    const answer = await one.answer({
      method: call.method,
      match: match.slice(1),
      query: new URLSearchParams(query),
      body: (call.body ?? {}) as Record<string, unknown>,
      token,
      url,
      headers,
    });
    if (answer === undefined) continue;
    if (token.expires !== undefined) {
      answer.headers.set("github-authentication-token-expiration", token.expires);
    }
    return answer;
  }
  return known instanceof Response ? known : problem(known === undefined ? 401 : 404, "Not Found");
}

const NOBODY: FakeToken = { token: "", login: "", id: 0 };

/** An error as GitHub writes it. */
export function problem(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  errors?: readonly unknown[],
): Response {
  const body = { message, documentation_url: "https://docs.github.com/rest", status: `${status}` };
  return Response.json(errors === undefined ? body : { ...body, errors }, { status, headers });
}

/** One page of a list, newest first, with the link to the next one. */
export function page(
  items: readonly unknown[],
  { query, url }: RouteRequest,
  path: string,
): Response {
  const size = Math.min(100, Number(query.get("per_page") ?? 30));
  const cursor = query.has("cursor") ? "cursor" : "page";
  const from = cursor === "cursor"
    ? Number(query.get("cursor")?.slice(2))
    : (Number(query.get("page") ?? 1) - 1) * size;
  const rest = new URLSearchParams(query);
  const usesCursor = path.endsWith("/deliveries");
  rest.set(usesCursor ? "cursor" : "page", usesCursor ? `v1${from + size}` : `${from / size + 2}`);
  const link: Record<string, string> = from + size < items.length
    ? { link: `<${url}${path}?${rest}>; rel="next"` }
    : {};
  return Response.json(items.slice(from, from + size), { headers: link });
}

/** Routes of the token's owner, of repositories, and of permissions in them. */
function accountRoutes({ repositories }: FakeState): readonly Route[] {
  const repository = /^\/repos\/([^/]+\/[^/]+)$/;
  const permission = /^\/repos\/([^/]+\/[^/]+)\/collaborators\/([^/]+)\/permission$/;
  return [
    {
      method: "GET",
      path: /^\/user$/,
      answer: ({ token: { login, id } }) => Response.json({ login, id, type: "User" }),
    },
    {
      method: "GET",
      path: /^\/orgs\/([^/]+)$/,
      answer({ match: [login = ""] }) {
        const isKnown = [...repositories.keys()].some((name) => name.startsWith(`${login}/`));
        return isKnown
          ? Response.json({ login, id: 5, type: "Organization" })
          : problem(404, "Not Found");
      },
    },
    {
      method: "GET",
      path: repository,
      answer({ match: [name = ""], token }) {
        const found = repositories.get(name);
        if (found === undefined) return problem(404, "Not Found");
        const role = found.permissions?.[token.login] ?? "read";
        const admin = role === "admin";
        return Response.json({
          default_branch: "main",
          ...found,
          permissions: {
            admin,
            push: admin || role === "write" || role === "maintain",
            pull: true,
          },
        });
      },
    },
    {
      method: "GET",
      path: permission,
      answer({ match: [name = "", login = ""] }) {
        const found = repositories.get(name);
        if (found === undefined) return problem(404, "Not Found");
        const role = found.permissions?.[login] ?? "read";
        // `permission` has no value for the roles maintain and triage.
        const coarse = role === "maintain" ? "write" : role === "triage" ? "read" : role;
        return Response.json({ permission: coarse, role_name: role, user: { login } });
      },
    },
  ];
}
