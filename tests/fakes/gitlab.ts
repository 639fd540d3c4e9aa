/**
 * A server with the part of GitLab's REST API that svc uses (https://docs.gitlab.com/api/rest/), over real
 * repositories. It keeps the requests that arrived, and a test can make it refuse, slow down or lose
 * answers. Each sort of route is in a file of its own, and listed in `fakeGitLab`.
 *
 * @module
 */

import { FakeGit } from "./git_repositories.ts";
import { gitRouteOf } from "./gitlab_git.ts";
import { GitLabMergeRequests } from "./gitlab_merge_requests.ts";
import { projectRoutes } from "./gitlab_projects.ts";
import { GitLabReviews } from "./gitlab_reviews.ts";
import { GitLabThreads } from "./gitlab_threads.ts";

/** A user. Bots of project and group tokens are users as well: `project_ID_bot_HEX`. */
export interface GitLabUser {
  readonly id: number;
  readonly username: string;
  readonly name?: string;
  /** `active` if absent. */
  state?: "active" | "blocked" | "deactivated";
  /** Whether it is a service account; that of a token is a bot by its name. */
  readonly bot?: true;
}

/** A personal, project or group access token. */
export interface GitLabToken {
  readonly token: string;
  /** Id of its user. */
  readonly user: number;
  /** `["api"]` if absent. */
  readonly scopes?: readonly string[];
  /** The project or group that it is of; absent for a personal one. */
  readonly of?: string;
  /** `2030-01-31`. */
  readonly expires_at?: string;
  /** Why it is refused. */
  ended?: "expired" | "revoked";
}

/** A project. */
export interface GitLabProject {
  readonly id: number;
  /** `GROUP/…/PROJECT`; changes when it is moved. */
  path: string;
  default_branch: string;
  visibility: "public" | "private";
  archived: boolean;
  /** What a move left: calls with these paths are sent elsewhere. */
  readonly earlier: string[];
  /** The project that it is a fork of. */
  readonly forkedFrom?: number;
}

/** A member of a project or group. */
export interface GitLabMember {
  /** 10 guest, 15 planner, 20 reporter, 30 developer, 40 maintainer, 50 owner. */
  access_level: number;
  /** `awaiting` has been asked and has not accepted. */
  membership_state?: "active" | "awaiting";
  /** `2026-01-31`. */
  expires_at?: string;
}

/** One request that arrived. */
export interface GitLabCall {
  readonly method: string;
  /** Path below the base URL, or that of git, with its query. */
  readonly path: string;
  /** Parsed body; `undefined` where there was none. */
  readonly body: unknown;
  /** Status of the answer. */
  status: number;
}

/** A request as a route sees it. */
export interface GitLabRequest {
  readonly method: string;
  /** Matches of the groups of `path`, decoded. */
  readonly match: readonly string[];
  /** Path below the base URL, as it was sent, without its query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
  readonly token: GitLabToken;
  readonly user: GitLabUser;
  /** Base URL of the API. */
  readonly url: string;
  readonly headers: Headers;
}

/** A request of a project. */
export interface ProjectRequest extends GitLabRequest {
  readonly project: GitLabProject;
  /** Access level of the token's user; 0 for none. */
  readonly level: number;
}

/** A request of a group. */
export interface GroupRequest extends GitLabRequest {
  /** Full path. */
  readonly group: string;
  readonly level: number;
}

/** What a route answers; `undefined` leaves the call to the next one. */
export type GitLabAnswer = Response | undefined | Promise<Response | undefined>;

/**
 * A route. Every method but `GET` needs the scope `api`; `GET` is content with `read_api`.
 */
export type GitLabRoute =
  & {
    readonly method: string;
    /** Matches what follows the base URL, or the project, or the group; undecoded. */
    readonly path: RegExp;
    /** Least access level of the user. */
    readonly level?: number;
    /** Scopes of which one is enough, in place of the usual ones. */
    readonly scopes?: readonly string[];
  }
  & (
    | { readonly in: "api"; readonly answer: (request: GitLabRequest) => GitLabAnswer }
    | { readonly in: "project"; readonly answer: (request: ProjectRequest) => GitLabAnswer }
    | { readonly in: "group"; readonly answer: (request: GroupRequest) => GitLabAnswer }
  );

/** An event for the webhooks of a project. */
export interface GitLabEvent {
  readonly project: GitLabProject;
  /** `Note Hook`. */
  readonly event: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A ref that was changed by a push; an id of zeros is none. */
export interface GitLabPush {
  readonly project: GitLabProject;
  readonly user: GitLabUser;
  readonly ref: string;
  readonly old: string;
  readonly now: string;
}

/** State that the routes share. */
export class GitLabState {
  readonly users = new Map<number, GitLabUser>();
  readonly projects = new Map<number, GitLabProject>();
  /** Members by user id, of each group and project by its path. */
  readonly members = new Map<string, Map<number, GitLabMember>>();
  readonly git: FakeGit;
  /** Are told of each event. */
  readonly listeners: ((event: GitLabEvent) => void)[] = [];
  #lastId = 1000;
  #now: string | undefined;

  constructor(git: FakeGit) {
    this.git = git;
  }

  /** A new number at each call. */
  nextId(): number {
    return ++this.#lastId;
  }

  /** The time as RFC 3339; {@linkcode GitLabState.setNow} moves it. */
  now(): string {
    return this.#now ?? new Date().toISOString();
  }

  setNow(rfc3339: string): void {
    this.#now = rfc3339;
  }

  /** A project by id or path, earlier paths included. */
  project(idOrPath: string): GitLabProject | undefined {
    return this.projects.get(Number(idOrPath)) ??
      this.projectAt(idOrPath) ??
      [...this.projects.values()].find(({ earlier }) => earlier.includes(idOrPath));
  }

  /** The project that is at a path now; paths have no case. */
  projectAt(path: string): GitLabProject | undefined {
    return [...this.projects.values()].find((one) => one.path.toLowerCase() === path.toLowerCase());
  }

  /** Whether any project is in a group or in a group of it. */
  isGroup(path: string): boolean {
    return [...this.projects.values()].some((one) => one.path.startsWith(`${path}/`));
  }

  /** Makes somebody a member of a group or a project. */
  addMember(path: string, user: number, member: GitLabMember): void {
    const members = this.members.get(path) ?? new Map<number, GitLabMember>();
    this.members.set(path, members.set(user, member));
  }

  /** The highest membership of a user in a group or project, that of its groups included. */
  memberOf(path: string, user: number): GitLabMember | undefined {
    const parts = path.split("/");
    const found = parts.map((_, i) => this.members.get(parts.slice(0, i + 1).join("/"))?.get(user))
      .filter((one) => one !== undefined);
    return found.toSorted((a, b) => b.access_level - a.access_level)[0];
  }

  /** Tells of a push to a ref, with at most 20 of its commits, the oldest first. */
  async pushed({ project, user, ref, old, now }: GitLabPush): Promise<void> {
    const kind = ref.startsWith("refs/tags/") ? "tag_push" : "push";
    const isGone = /^0+$/.test(now);
    const range = /^0+$/.test(old) ? [now, "--not", `refs/heads/${project.default_branch}`] : [
      `${old}..${now}`,
    ];
    const list = isGone ? "" : await this.git.run(project.path, "rev-list", "--reverse", ...range);
    const ids = list.split("\n").filter((id) => id !== "");
    const messageOf = (id: string) => this.git.run(project.path, "log", "-1", "--format=%B", id);
    const commits = await Promise.all(
      ids.slice(-20).map(async (id) => ({ id, message: `${await messageOf(id)}\n` })),
    );
    this.tell({
      project,
      event: kind === "push" ? "Push Hook" : "Tag Push Hook",
      payload: {
        object_kind: kind,
        event_name: kind,
        ref,
        before: old,
        after: now,
        checkout_sha: isGone ? null : now,
        user_id: user.id,
        user_username: user.username,
        user_name: user.name ?? user.username,
        project_id: project.id,
        project: this.shownProject(project),
        commits,
        total_commits_count: ids.length,
      },
    });
  }

  tell(event: GitLabEvent): void {
    for (const listener of this.listeners) listener(event);
  }

  /** A user as the API shows one within other objects. */
  shownUser(id: number) {
    const { username = `ghost${id}`, name = username, state = "active" } = this.users.get(id) ?? {};
    return { id, username, name, state, locked: false, web_url: `https://gitlab.com/${username}` };
  }

  /** A project as payloads show it. */
  shownProject({ id, path, default_branch, visibility }: GitLabProject) {
    const [name = "", ...namespace] = path.split("/").toReversed();
    return {
      id,
      name,
      namespace: namespace.toReversed().join("/"),
      path_with_namespace: path,
      default_branch,
      visibility_level: visibility === "public" ? 20 : 0,
      web_url: `https://gitlab.com/${path}`,
    };
  }
}

/** Answers in the place of a route, or leaves it to the route. */
export type GitLabInterference = (
  call: GitLabCall,
  /** Carries the call out and returns its answer, so that a test can lose it. */
  carryOut: () => Promise<Response>,
) => Response | Promise<Response> | undefined;

/** Options of {@linkcode fakeGitLab}. */
export interface GitLabOptions {
  readonly users?: readonly GitLabUser[];
  readonly tokens?: readonly GitLabToken[];
  /** Paths of projects, with what differs from a private one on `main`. */
  readonly projects?: Readonly<
    Record<string, Partial<Pick<GitLabProject, "visibility" | "archived" | "default_branch">>>
  >;
  /** Access levels by user id, of groups and projects by path. */
  readonly members?: Readonly<Record<string, Readonly<Record<number, number>>>>;
  /** More routes, which come before the others. */
  readonly routes?: (state: GitLabState) => readonly GitLabRoute[];
}

/** A stand-in for GitLab. */
export interface FakeGitLab extends AsyncDisposable {
  /** Base URL of the API, for `api:` of a Connection. */
  readonly url: string;
  readonly calls: GitLabCall[];
  readonly tokens: GitLabToken[];
  readonly state: GitLabState;
  readonly git: FakeGit;
  readonly threads: GitLabThreads;
  readonly mergeRequests: GitLabMergeRequests;
  readonly reviews: GitLabReviews;
  /** Called for each request before its route; the last one set counts. */
  interfere: GitLabInterference | undefined;
}

/** The user of svc when a test names none, and a person who may write. */
export const BOT: GitLabUser = { id: 4242, username: "svc-bot", name: "svc" };
/** A developer. */
export const ADA: GitLabUser = { id: 77, username: "ada-pereira", name: "Ada Pereira" };
/** The token when a test names none. */
export const GITLAB_TOKEN: GitLabToken = { token: "glpat-fake0123456789", user: BOT.id };
/** The project when a test names none. */
export const GITLAB_PROJECT = "brightwater/harbour/tidepool";

/** Starts it; each project has one commit on its default branch. */
export async function fakeGitLab(options: GitLabOptions = {}): Promise<FakeGitLab> {
  const root = await Deno.makeTempDir({ prefix: "svc-fake-gitlab-" });
  const state = new GitLabState(new FakeGit(root));
  await fill(state, options);
  const tokens = (options.tokens ?? [GITLAB_TOKEN]).map((token) => ({ ...token })); // tests end some
  const threads = new GitLabThreads(state);
  const mergeRequests = new GitLabMergeRequests(state, threads);
  const reviews = new GitLabReviews(state, threads, mergeRequests);
  const routes: readonly GitLabRoute[] = [
    ...options.routes?.(state) ?? [],
    ...projectRoutes(state),
    ...threads.routes,
    ...mergeRequests.routes,
    ...reviews.routes,
  ];
  const pushed = async (push: GitLabPush) => {
    await state.pushed(push);
    await mergeRequests.pushed(push);
  };
  const calls: GitLabCall[] = [];
  const fake = { interfere: undefined as GitLabInterference | undefined };
  const ended = new AbortController();
  const server: Deno.HttpServer<Deno.NetAddr> = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, signal: ended.signal },
    async (request) => {
      const url = new URL(request.url);
      const { method, headers } = request;
      const bytes = await request.bytes();
      const git = gitRouteOf({ method, url, headers, body: bytes }, { state, tokens, pushed });
      const pathname = git === undefined ? url.pathname.replace(BASE, "") : url.pathname;
      const body = git === undefined ? bodyOf(bytes, headers) : undefined;
      const call: GitLabCall = { method, path: `${pathname}${url.search}`, body, status: 0 };
      calls.push(call);
      const isApi = git !== undefined || url.pathname.startsWith(`${BASE}/`);
      const carryOut = git ??
        (async () =>
          isApi
            ? await route(call, { headers, routes, tokens, state, url: `${url.origin}${BASE}` })
            : new Response("<html>sign in</html>", { status: 404 }));
      const answer = await (fake.interfere?.(call, carryOut) ?? carryOut());
      call.status = answer.status;
      return answer;
    },
  );
  return Object.assign(fake, {
    url: `http://127.0.0.1:${server.addr.port}${BASE}`,
    calls,
    tokens,
    state,
    git: state.git,
    threads,
    mergeRequests,
    reviews,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await server.finished;
      await Deno.remove(root, { recursive: true });
    },
  });
}

/** Path of the API below the host. */
const BASE = "/api/v4";

async function fill(state: GitLabState, options: GitLabOptions): Promise<void> {
  const projects = options.projects ?? { [GITLAB_PROJECT]: {} };
  const members = options.members ??
    Object.fromEntries(Object.keys(projects).map((path) => [path, { [BOT.id]: 40, [ADA.id]: 30 }]));
  for (const user of options.users ?? [BOT, ADA]) state.users.set(user.id, { ...user });
  for (const [path, given] of Object.entries(projects)) {
    await addProject(state, path, given);
  }
  for (const [path, levels] of Object.entries(members)) {
    for (const [id, access_level] of Object.entries(levels)) {
      state.addMember(path, Number(id), { access_level });
    }
  }
}

/** Makes a project with one commit on its default branch, or with all of another (a fork). */
export async function addProject(
  state: GitLabState,
  path: string,
  given: Partial<GitLabProject> = {},
): Promise<GitLabProject> {
  const project: GitLabProject = {
    default_branch: "main",
    visibility: "private",
    archived: false,
    earlier: [],
    ...given,
    id: state.nextId(),
    path,
  };
  state.projects.set(project.id, project);
  const from = project.forkedFrom === undefined
    ? undefined
    : state.projects.get(project.forkedFrom);
  await state.git.make(path, from?.path, project.default_branch);
  return project;
}

/** The parsed body of a request; `undefined` where there is none. */
function bodyOf(bytes: Uint8Array, headers: Headers): unknown {
  const text = new TextDecoder().decode(bytes);
  if (text === "") return undefined;
  return headers.get("content-type")?.startsWith("application/x-www-form") === true
    ? Object.fromEntries(new URLSearchParams(text))
    : JSON.parse(text);
}

/** Whom a token stands for, or why it is refused; for the API and for git. */
export function findToken(
  given: string | null,
  { tokens, state }: { readonly tokens: readonly GitLabToken[]; readonly state: GitLabState },
): { readonly token: GitLabToken; readonly user: GitLabUser } | Response {
  const token = tokens.find((one) => one.token === given);
  const user = token === undefined ? undefined : state.users.get(token.user);
  if (token?.ended !== undefined) {
    const error_description = token.ended === "expired"
      ? "Token is expired. You can either do re-authorization or token refresh."
      : "Token was revoked. You have to re-authorize from the user.";
    return Response.json({ error: "invalid_token", error_description }, { status: 401 });
  }
  if (token === undefined || user === undefined) return problem(401, "Unauthorized");
  if ((user.state ?? "active") !== "active") {
    return problem(403, "Forbidden - Your account has been blocked");
  }
  return { token, user };
}

/** Whether a token may see a project or group at all. */
export function reaches({ of }: GitLabToken, path: string): boolean {
  return of === undefined || path === of || path.startsWith(`${of}/`);
}

async function route(
  call: GitLabCall,
  { headers, routes, tokens, state, url }: {
    readonly headers: Headers;
    readonly routes: readonly GitLabRoute[];
    readonly tokens: readonly GitLabToken[];
    readonly state: GitLabState;
    readonly url: string;
  },
): Promise<Response> {
  const found = findToken(headers.get("private-token"), { tokens, state });
  if (found instanceof Response) return found;
  const { token, user } = found;
  const [path = "", query = ""] = call.path.split("?");
  const [, kind, id = "", rest = ""] = /^\/(projects|groups)\/([^/]+)(.*)$/.exec(path) ?? [];
  const place = kind === undefined
    ? undefined
    : placeOf(kind, decodeURIComponent(id), found, state);
  const at = place instanceof Response || place?.project === undefined
    ? place
    : movedFrom(decodeURIComponent(id), place.project, call.method, url + rest) ?? place;
  for (const one of routes) {
    const below = one.in === "api" ? path : kind === `${one.in}s` ? rest : undefined;
    const match = below === undefined || one.method !== call.method ? null : one.path.exec(below);
    if (match === null) continue;
    const refusal = refusalOf(one, token);
    if (refusal !== undefined) return refusal;
    const request: GitLabRequest = {
      method: call.method,
      match: match.slice(1).map((part = "") => decodeURIComponent(part)),
      path,
      query: new URLSearchParams(query),
      body: (call.body ?? {}) as Record<string, unknown>,
      token,
      user,
      url,
      headers,
    };
    const answer = one.in === "api"
      ? await one.answer(request)
      : at instanceof Response
      ? at
      : at === undefined
      ? undefined
      : at.level < (one.level ?? 0)
      ? problem(403, "Forbidden")
      : one.in === "project"
      ? at.project && await one.answer({ ...request, project: at.project, level: at.level })
      : await one.answer({ ...request, group: at.path, level: at.level });
    if (answer !== undefined) return answer;
  }
  return Response.json({ error: "404 Not Found" }, { status: 404 });
}

/** Why a token may not use a route. */
function refusalOf({ method, scopes }: GitLabRoute, token: GitLabToken): Response | undefined {
  const enough = scopes ?? (method === "GET" ? ["api", "read_api"] : ["api"]);
  if ((token.scopes ?? ["api"]).some((one) => enough.includes(one))) return undefined;
  const scope = enough.join(" ");
  const error_description =
    "The request requires higher privileges than provided by the access token.";
  return Response.json({ error: "insufficient_scope", error_description, scope }, { status: 403 });
}

/** The project or group of a path, as a user sees it. */
function placeOf(
  kind: string,
  id: string,
  { token, user }: { readonly token: GitLabToken; readonly user: GitLabUser },
  state: GitLabState,
):
  | { readonly path: string; readonly level: number; readonly project?: GitLabProject }
  | Response {
  const isProject = kind === "projects";
  const what = isProject ? "Project" : "Group";
  const project = isProject ? state.project(id) : undefined;
  const path = isProject ? project?.path : state.isGroup(id) ? id : undefined;
  if (path === undefined || !reaches(token, path)) return problem(404, `${what} Not Found`);
  const level = state.memberOf(path, user.id)?.access_level ?? 0;
  if (level === 0 && project?.visibility !== "public") return problem(404, `${what} Not Found`);
  return project === undefined ? { path, level } : { path, level, project };
}

/** The answer about a project that is elsewhere now. */
function movedFrom(
  id: string,
  project: GitLabProject,
  method: string,
  below: string,
): Response | undefined {
  if (!project.earlier.includes(id)) return undefined;
  if (method !== "GET") {
    const message = "Non GET methods are not allowed for moved projects";
    return Response.json({ message }, { status: 405 });
  }
  const location = below.replace(BASE, `${BASE}/projects/${project.id}`);
  return new Response(null, { status: 302, headers: { location } });
}

/** An error as GitLab writes most: `{"message": "404 Project Not Found"}`. */
export function problem(status: number, message: string): Response {
  return Response.json({ message: `${status} ${message}` }, { status });
}

/** A parameter that is missing or wrong: `{"error": "title is missing"}`. */
export function wrongParameter(error: string): Response {
  return Response.json({ error }, { status: 400 });
}

/** What a model refuses: `{"message": {"title": ["can't be blank"]}}`. */
export function invalid(field: string, why: string, status = 400): Response {
  return Response.json({ message: { [field]: [why] } }, { status });
}

/** One page of a list, with the links and counts of offset pagination. */
export function page(
  items: readonly unknown[],
  { query, url, path }: GitLabRequest,
): Response {
  const size = Math.min(100, Number(query.get("per_page") ?? 20));
  const number = Number(query.get("page") ?? 1);
  const from = (number - 1) * size;
  const next = from + size < items.length ? `${number + 1}` : "";
  const rest = new URLSearchParams(query);
  rest.set("page", next);
  rest.set("per_page", `${size}`);
  return Response.json(items.slice(from, from + size), {
    headers: {
      "x-page": `${number}`,
      "x-per-page": `${size}`,
      "x-total": `${items.length}`,
      "x-next-page": next,
      ...next === "" ? {} : { link: `<${url}${path}?${rest}>; rel="next"` },
    },
  });
}
