/**
 * The fakes of the forges by one interface, for rules that each of them must keep.
 *
 * @module
 */

import type { ForgeName } from "../../src/base/forge_names.ts";
import type { FakeGit } from "../fakes/git_repositories.ts";
import { type FakeToken, TOKEN } from "../fakes/github.ts";
import { type FakeGitHubWithGit, fakeGitHubWithGit } from "../fakes/github_git.ts";
import { ADA, type FakeGitLab, fakeGitLab, GITLAB_PROJECT, GITLAB_TOKEN } from "../fakes/gitlab.ts";
import { REPOSITORY } from "./github_sending.ts";

/** Answers in the place of a route, or leaves it to the route. */
export type Interference = (
  call: { readonly method: string; readonly path: string },
  /** Carries the call out and returns its answer, so that a test can lose it. */
  carryOut: () => Promise<Response>,
) => Response | Promise<Response> | undefined;

/** What svc makes of a pull. */
export interface FakePullFacts {
  /** As the forge keeps it: a draft says so there at GitLab. */
  readonly title: string;
  readonly sha: string;
  readonly labels: readonly string[];
  /** Logins. */
  readonly reviewers: readonly string[];
}

/** The fake of a forge with one repository. */
export interface ForgeFake extends AsyncDisposable {
  readonly name: ForgeName;
  /** Base URL of the API. */
  readonly url: string;
  readonly repository: string;
  readonly token: string;
  /** Path of the repository in the API. */
  readonly path: string;
  /** The block of a Connection to it, whose token is in the SecretStore `tidepool`. */
  readonly connection: Readonly<Record<string, unknown>>;
  readonly git: FakeGit;
  readonly calls: { readonly method: string; readonly path: string }[];
  interfere(how: Interference | undefined): void;
  /** Opens a pull of a person from a branch; returns its number. */
  openPull(branch: string): Promise<number>;
  /** The pulls from a branch, open or not. */
  pullsFrom(branch: string): readonly FakePullFacts[];
  /** Login of a person who can be asked for a review. */
  readonly person: string;
  /** How many pulls there are, open or not. */
  pulls(): number;
  /** A person closes the only pull at a time. */
  closePull(rfc3339: string): Promise<void>;
  /** Gives the repository another name. */
  rename(): void;
  /** What a call gets for a repository that is not there. */
  notFound(): Response;
}

/** A fake GitHub, with its own interface besides. */
export async function gitHubFake(
  { tokens = [TOKEN] }: { readonly tokens?: readonly FakeToken[] } = {},
): Promise<ForgeFake & { readonly fake: FakeGitHubWithGit }> {
  const permissions = { [TOKEN.login]: "admin", ada: "write" } as const;
  const repositories = [{ full_name: REPOSITORY, permissions, default_branch: "main" }];
  const fake = await fakeGitHubWithGit({ tokens, repositories });
  const { url, git, calls, pulls: { pulls } } = fake;
  const ada = { login: "ada", id: 7 };
  return {
    fake,
    name: "github",
    url,
    repository: REPOSITORY,
    token: TOKEN.token,
    path: `/repos/${REPOSITORY}`,
    connection: {
      github: {
        repository: REPOSITORY,
        api: url,
        token: { fromSecret: { store: "tidepool", key: "token" } },
      },
    },
    git,
    calls,
    interfere: (how) => fake.interfere = how,
    async openPull(head) {
      return (await fake.pulls.open({ repository: REPOSITORY, user: ada, head })).number;
    },
    person: "ada",
    pullsFrom: (branch) =>
      pulls.filter(({ head }) => head.branch === branch).map(({ head, issue, reviewers }) => ({
        title: issue.title,
        sha: head.sha,
        labels: issue.labels ?? [],
        reviewers,
      })),
    pulls: () => pulls.length,
    async closePull(at) {
      const [pull] = pulls;
      if (pull === undefined) throw new Error("There is no pull request");
      fake.setNow(at);
      await fake.pulls.close(pull, ada);
    },
    rename: () => void fake.state.renamed.set(REPOSITORY, "brightwater/lagoon"),
    notFound: () => Response.json({ message: "Not Found" }, { status: 404 }),
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  };
}

/** A fake GitLab, with its own interface besides. */
export async function gitLabFake(): Promise<ForgeFake & { readonly fake: FakeGitLab }> {
  const fake = await fakeGitLab();
  const { url, git, calls, mergeRequests: { all }, state } = fake;
  return {
    fake,
    name: "gitlab",
    url,
    repository: GITLAB_PROJECT,
    token: GITLAB_TOKEN.token,
    path: `/projects/${encodeURIComponent(GITLAB_PROJECT)}`,
    connection: {
      gitlab: {
        project: GITLAB_PROJECT,
        api: url,
        token: { fromSecret: { store: "tidepool", key: "token" } },
      },
    },
    git,
    calls,
    interfere: (how) => fake.interfere = how,
    async openPull(branch) {
      return (await fake.mergeRequests.open(GITLAB_PROJECT, { user: ADA, branch })).thread.iid;
    },
    person: ADA.username,
    pullsFrom: (branch) =>
      all.filter(({ source_branch }) => source_branch === branch).map((one) => ({
        title: one.thread.title,
        sha: one.sha,
        labels: one.thread.labels,
        reviewers: one.reviewers.map((id) => state.users.get(id)?.username ?? ""),
      })),
    pulls: () => all.length,
    async closePull(at) {
      const [one] = all;
      if (one === undefined) throw new Error("There is no merge request");
      state.setNow(at);
      await fake.mergeRequests.close(one, ADA);
    },
    rename() {
      const project = state.projectAt(GITLAB_PROJECT);
      if (project === undefined) return;
      project.earlier.push(project.path);
      project.path = "brightwater/lagoon";
      state.members.set(project.path, state.members.get(GITLAB_PROJECT) ?? new Map());
    },
    notFound: () => Response.json({ message: "404 Project Not Found" }, { status: 404 }),
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  };
}

/** A fake of each forge. */
export const FORGE_FAKES: Readonly<Record<ForgeName, () => Promise<ForgeFake>>> = {
  github: gitHubFake,
  gitlab: gitLabFake,
};
