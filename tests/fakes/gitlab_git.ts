/**
 * The repositories of the fake GitLab for git: `git http-backend` behind its tokens.
 *
 * @module
 */

import { basicOf, type GitRequest, gitServiceOf, isPush } from "./git_repositories.ts";
import {
  findToken,
  type GitLabPush,
  type GitLabState,
  type GitLabToken,
  reaches,
} from "./gitlab.ts";

interface GitLabHost {
  readonly state: GitLabState;
  readonly tokens: readonly GitLabToken[];
  /** Is told of each ref that was changed. */
  readonly pushed: (push: GitLabPush) => Promise<void>;
}

/** Least access level of a push: Developer. */
const DEVELOPER = 30;

/** How a request of git is carried out; `undefined` for any other request. */
export function gitRouteOf(
  request: GitRequest,
  host: GitLabHost,
): (() => Promise<Response>) | undefined {
  const asked = gitServiceOf(request.url.pathname);
  return asked === undefined ? undefined : () => serve(request, asked, host);
}

async function serve(
  request: GitRequest,
  { name, service }: { readonly name: string; readonly service: string },
  { state, tokens, pushed }: GitLabHost,
): Promise<Response> {
  // The user counts for passwords only: a token may have any but an empty one.
  const [login, given] = basicOf(request.headers);
  const found = login === "" ? undefined : findToken(given, { state, tokens });
  if (found === undefined || found instanceof Response) {
    const headers = { "www-authenticate": 'Basic realm="GitLab"' };
    return new Response("HTTP Basic: Access denied", { status: 401, headers });
  }
  const { token, user } = found;
  const project = state.project(name);
  if (project === undefined || !reaches(token, project.path)) return notFound();
  const level = state.memberOf(project.path, user.id)?.access_level ?? 0;
  if (level === 0 && project.visibility !== "public") return notFound();
  if (project.path !== name) {
    const location = `${request.url.origin}/${project.path}.git/${service}${request.url.search}`;
    return new Response(null, { status: 301, headers: { location } });
  }
  const scopes = token.scopes ?? ["api"];
  const writes = isPush(request.url, service);
  const enough = writes
    ? ["api", "write_repository"]
    : ["api", "write_repository", "read_repository"];
  if (!scopes.some((one) => enough.includes(one))) return notAllowed("push code");
  if (writes && level < DEVELOPER) return notAllowed("push code");
  if (writes && project.archived) {
    return new Response("You are not allowed to push code to an archived project.", {
      status: 403,
    });
  }
  const before = await state.git.refs(project.path);
  const answer = await state.git.backend(request, `/${project.path}.git/${service}`);
  if (service === "git-receive-pack") {
    const after = await state.git.refs(project.path);
    for (const ref of new Set([...before.keys(), ...after.keys()])) {
      const none = "0".repeat(40);
      const [old = none, now = none] = [before.get(ref), after.get(ref)];
      if (old !== now) await pushed({ project, user, ref, old, now });
    }
  }
  return answer;
}

function notFound(): Response {
  const text = "The project you were looking for could not be found or you don't have " +
    "permission to view it.";
  return new Response(text, { status: 404 });
}

function notAllowed(what: string): Response {
  return new Response(`You are not allowed to ${what} to this project.`, { status: 403 });
}
