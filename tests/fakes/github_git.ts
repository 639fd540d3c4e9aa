/**
 * The fake GitHub over real bare repositories: `git http-backend` behind its tokens, so that refs, leases
 * and packs are git's own, and the routes of pull requests, which read the same repositories.
 *
 * @module
 */

import { basicOf, FakeGit, gitServiceOf, isPush } from "./git_repositories.ts";
import { type FakeGitHub, fakeGitHub, type FakeOptions, type RawRequest } from "./github.ts";
import { FakePulls } from "./github_pulls.ts";

/** A stand-in for GitHub with repositories. */
export interface FakeGitHubWithGit extends FakeGitHub {
  readonly git: FakeGit;
  readonly pulls: FakePulls;
}

/** Starts it; each repository has one commit on `main`. */
export async function fakeGitHubWithGit(options: FakeOptions = {}): Promise<FakeGitHubWithGit> {
  const root = await Deno.makeTempDir({ prefix: "svc-fake-git-" });
  const git = new FakeGit(root);
  const pulls = new FakePulls(git, () => fake);
  const fake: FakeGitHub = fakeGitHub({
    ...options,
    raw: (request) => routeOf(request, { git, pulls, renamed: () => fake.state.renamed }),
    routes: (state) => [...options.routes?.(state) ?? [], ...pulls.routes],
  });
  for (const name of fake.state.repositories.keys()) await git.make(name);
  const dispose = fake[Symbol.asyncDispose].bind(fake);
  return Object.assign(fake, {
    git,
    pulls,
    async [Symbol.asyncDispose]() {
      await dispose();
      await Deno.remove(root, { recursive: true });
    },
  });
}

/** What a request of git needs. */
interface GitHost {
  readonly git: FakeGit;
  readonly pulls: FakePulls;
  readonly renamed: () => ReadonlyMap<string, string>;
}

/** How a request of git is carried out; `undefined` for any other request. */
function routeOf(request: RawRequest, host: GitHost): (() => Promise<Response>) | undefined {
  const asked = gitServiceOf(request.url.pathname);
  return asked === undefined ? undefined : () => serve(request, asked, host);
}

async function serve(
  request: RawRequest,
  { name, service }: { readonly name: string; readonly service: string },
  { git, pulls, renamed }: GitHost,
): Promise<Response> {
  const [user, token] = basicOf(request.headers);
  const owner = user === "x-access-token" ? request.find(token) : undefined;
  if (owner instanceof Response) return owner;
  if (owner === undefined) {
    const headers = { "www-authenticate": 'Basic realm="GitHub"' };
    return new Response("Invalid username or token.", { status: 401, headers });
  }
  const now = renamed().get(name);
  if (now !== undefined) {
    const location = `${request.url.origin}/${now}.git/${service}${request.url.search}`;
    return new Response(null, { status: 301, headers: { location } });
  }
  const exists = await Deno.stat(git.directory(name)).then(() => true, () => false);
  if (!exists || owner.repositories?.includes(name) === false) {
    return new Response("Repository not found.", { status: 404 });
  }
  if (isPush(request.url, service) && owner.permissions?.includes("contents=write") === false) {
    return new Response("Write access to repository not granted.", {
      status: 403,
      headers: { "x-accepted-github-permissions": "contents=write" },
    });
  }
  const before = await git.refs(name);
  const answer = await git.backend(request, `/${name}.git/${service}`);
  if (service === "git-receive-pack") {
    await pulls.pushed(name, { before, after: await git.refs(name) }, owner);
  }
  return answer;
}
