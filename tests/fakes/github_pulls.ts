/**
 * Pull requests of the fake GitHub over real repositories, with reviews, reviewers and comparisons; the
 * events of pushes and pull requests go to its webhooks.
 *
 * @module
 */

import type { FakeGitHub, FakeToken, Route, RouteRequest } from "./github.ts";
import { page, problem } from "./github.ts";
import type { FakeGit } from "./git_repositories.ts";
import type { FakeIssue, FakeUser } from "./github_issues.ts";

/** A pull request. Its title, text, state and labels are those of its issue. */
export interface FakePull {
  readonly issue: FakeIssue;
  /** Repository that it is open in. */
  readonly repository: string;
  readonly number: number;
  readonly user: FakeUser;
  readonly head: { readonly repository: string; readonly branch: string; sha: string };
  base: string;
  draft: boolean;
  merged: boolean;
  closedAt?: string;
  /** Logins and names of teams that were asked. */
  readonly reviewers: string[];
}

/** A review of a pull request. */
export interface FakeReview {
  readonly id: number;
  readonly pull: FakePull;
  readonly user: FakeUser;
  readonly commit: string;
  readonly state: string;
  body: string;
  readonly comments: readonly Readonly<Record<string, unknown>>[];
}

const EVENTS = ["APPROVE", "REQUEST_CHANGES", "COMMENT"];
const IN = "/repos/([^/]+/[^/]+)";

/** Pull requests, and what a push does to them. */
export class FakePulls {
  readonly pulls: FakePull[] = [];
  readonly reviews: FakeReview[] = [];
  /** Repositories whose plan has no drafts. */
  readonly withoutDrafts = new Set<string>();
  readonly #git: FakeGit;
  readonly #fake: () => FakeGitHub;

  constructor(git: FakeGit, fake: () => FakeGitHub) {
    this.#git = git;
    this.#fake = fake;
  }

  find(repository: string, number: number): FakePull | undefined {
    return this.pulls.find((one) => one.repository === repository && one.number === number);
  }

  /** Opens a pull request as a user; `head` is `BRANCH` or `OWNER:BRANCH`. */
  async open(given: {
    readonly repository: string;
    readonly user: FakeUser;
    readonly head: string;
    readonly base?: string;
    readonly title?: string;
    readonly body?: string;
    readonly draft?: boolean;
  }): Promise<FakePull> {
    const made = await this.#open({ base: "main", title: "A change", body: "", ...given });
    if (made instanceof Response) throw new Error(await made.text());
    return made;
  }

  /** Closes a pull request, or merges it into its base. */
  async close(pull: FakePull, user: FakeUser, merged = false): Promise<void> {
    pull.issue.state = "closed";
    pull.merged = merged;
    pull.closedAt = this.#fake().state.now();
    if (merged) {
      const ref = `refs/heads/${pull.base}`;
      await this.#git.run(pull.repository, "update-ref", ref, pull.head.sha);
    }
    await this.#tell("closed", pull, user);
  }

  /** What a push of a token's owner does: events, and new heads of pull requests. */
  async pushed(
    repository: string,
    { before, after }: {
      readonly before: ReadonlyMap<string, string>;
      readonly after: ReadonlyMap<string, string>;
    },
    { login, id }: FakeToken,
  ): Promise<void> {
    const none = "0".repeat(40);
    for (const ref of new Set([...before.keys(), ...after.keys()])) {
      const [old = none, now = none] = [before.get(ref), after.get(ref)];
      if (old === now) continue;
      const payload = {
        ref,
        before: old,
        after: now,
        created: old === none,
        deleted: now === none,
        repository: { id: 1, full_name: repository },
        pusher: { name: login },
        sender: { login, id, type: "User" },
        head_commit: now === none ? null : await this.#headCommit(repository, now),
      };
      const { hooks } = this.#fake();
      void hooks.send(repository, { event: "push", payload: JSON.stringify(payload) });
      if (old === none) {
        const created = { ref: ref.replace("refs/heads/", ""), ref_type: "branch" };
        const { sender, repository } = payload;
        void hooks.send(repository.full_name, {
          event: "create",
          payload: JSON.stringify({ ...created, sender, repository }),
        });
      }
      const open = this.pulls.filter(({ head, issue }) =>
        head.repository === repository && `refs/heads/${head.branch}` === ref &&
        issue.state === "open"
      );
      for (const pull of open) {
        pull.head.sha = now;
        await this.#renew(pull);
        await this.#tell("synchronize", pull, { login, id });
      }
    }
  }

  /** Sets the commits of a pull request, which statuses and `pulls/N/commits` read. */
  async #renew({ issue, repository, base, head }: FakePull): Promise<void> {
    if (issue.pull === undefined) return;
    issue.pull.sha = head.sha;
    const range = `refs/heads/${base}..${head.sha}`;
    const commits = await this.#git.run(repository, "rev-list", "--reverse", range);
    issue.pull.commits = commits.split("\n");
  }

  async #tell(action: string, pull: FakePull, { login, id }: FakeUser): Promise<void> {
    const payload = {
      action,
      number: pull.number,
      pull_request: this.#shown(pull),
      repository: { id: 1, full_name: pull.repository },
      sender: { login, id, type: "User" },
    };
    await this.#fake().hooks.send(pull.repository, {
      event: "pull_request",
      payload: JSON.stringify(payload),
    });
  }

  get routes(): readonly Route[] {
    const ours = new RegExp(`^${IN}/pulls/([0-9]+)$`);
    return [
      {
        method: "GET",
        path: new RegExp(`^${IN}/pulls$`),
        answer: (request) => this.#list(request),
      },
      {
        method: "POST",
        path: new RegExp(`^${IN}/pulls$`),
        needs: "pull_requests=write",
        answer: (request) => this.#create(request),
      },
      {
        method: "GET",
        path: ours,
        answer: (request) => this.#with(request, (pull) => Response.json(this.#shown(pull))),
      },
      {
        method: "PATCH",
        path: ours,
        needs: "pull_requests=write",
        answer: (request) => this.#with(request, (pull) => this.#patch(pull, request)),
      },
      {
        method: "POST",
        path: new RegExp(`^${IN}/pulls/([0-9]+)/requested_reviewers$`),
        needs: "pull_requests=write",
        answer: (request) => this.#with(request, (pull) => this.#ask(pull, request)),
      },
      ...this.#reviewRoutes(),
      ...this.#commitRoutes(),
    ];
  }

  #with(
    { match: [repository = "", number] }: RouteRequest,
    answer: (pull: FakePull) => Response | Promise<Response>,
  ): Response | Promise<Response> | undefined {
    const pull = this.find(repository, Number(number));
    return pull === undefined ? undefined : answer(pull);
  }

  #list(request: RouteRequest): Response {
    const { match: [repository = ""], query } = request;
    const [state, head, base] = [
      query.get("state") ?? "open",
      query.get("head"),
      query.get("base"),
    ];
    const found = this.pulls.filter((one) =>
      one.repository === repository && (state === "all" || one.issue.state === state) &&
      (head === null || head === `${ownerOf(one.head.repository)}:${one.head.branch}`) &&
      (base === null || base === one.base)
    ).toReversed();
    return page(found.map((one) => this.#shown(one)), request, `/repos/${repository}/pulls`);
  }

  async #create({ match: [repository = ""], body, token }: RouteRequest): Promise<Response> {
    const made = await this.#open({
      repository,
      user: { login: token.login, id: token.id },
      head: String(body["head"]),
      base: String(body["base"]),
      title: String(body["title"] ?? ""),
      body: String(body["body"] ?? ""),
      draft: body["draft"] === true,
    });
    return made instanceof Response ? made : Response.json(this.#shown(made), { status: 201 });
  }

  async #open({ repository, user, head, base, title, body, draft = false }: {
    readonly repository: string;
    readonly user: FakeUser;
    readonly head: string;
    readonly base: string;
    readonly title: string;
    readonly body: string;
    readonly draft?: boolean;
  }): Promise<FakePull | Response> {
    const { state, issues } = this.#fake();
    if (!state.repositories.has(repository)) return problem(404, "Not Found");
    const [, owner = ownerOf(repository), branch = head] = /^([^:]+):(.+)$/.exec(head) ?? [];
    const from = `${owner}/${repository.split("/")[1]}`;
    const sha = await this.#git.find(from, `refs/heads/${branch}`);
    const onto = await this.#git.find(repository, `refs/heads/${base}`);
    if (title === "" || title.length > 256) return invalid("title", "missing_field");
    if (sha === undefined) return invalid("head", "invalid");
    if (onto === undefined) return invalid("base", "invalid");
    if (draft && this.withoutDrafts.has(repository)) {
      return refused("Draft pull requests are not supported in this repository.");
    }
    if (from !== repository) {
      await this.#git.run(repository, "fetch", "--quiet", this.#git.directory(from), sha);
    }
    const ahead = await this.#git.run(repository, "rev-list", "--count", `${onto}..${sha}`);
    if (ahead === "0") return refused(`No commits between ${base} and ${branch}`);
    const same = this.pulls.find((one) =>
      one.repository === repository && one.issue.state === "open" && one.base === base &&
      one.head.repository === from && one.head.branch === branch
    );
    if (same !== undefined) return refused(`A pull request already exists for ${owner}:${branch}.`);
    const numbers = issues.issues.filter((one) => one.repository === repository);
    const number = Math.max(0, ...numbers.map((one) => one.number)) + 1;
    const issue: FakeIssue = {
      repository,
      number,
      title,
      body,
      user,
      state: "open",
      labels: [],
      pull: { sha, commits: [] },
    };
    const pull: FakePull = {
      issue,
      repository,
      number,
      user,
      head: { repository: from, branch, sha },
      base,
      draft,
      merged: false,
      reviewers: [],
    };
    await this.#renew(pull);
    issues.issues.push(issue);
    this.pulls.push(pull);
    void this.#tell("opened", pull, user);
    return pull;
  }

  #patch({ issue, ...pull }: FakePull, { body, token }: RouteRequest): Response {
    const { title, body: text, state } = body;
    if (typeof title === "string") issue.title = title;
    if (typeof text === "string") issue.body = text;
    if (state === "open" || state === "closed") issue.state = state;
    const changed = this.find(pull.repository, pull.number);
    if (changed === undefined) return problem(404, "Not Found");
    if (typeof body["base"] === "string") changed.base = body["base"];
    void this.#tell("edited", changed, token);
    return Response.json(this.#shown(changed));
  }

  #ask(pull: FakePull, { body }: RouteRequest): Response {
    const people = (body["reviewers"] ?? []) as string[];
    const teams = (body["team_reviewers"] ?? []) as string[];
    if (people.includes(pull.user.login)) {
      return refused("Review cannot be requested from pull request author.");
    }
    const { permissions = {} } = this.#fake().state.repositories.get(pull.repository) ?? {};
    if (people.some((login) => !Object.hasOwn(permissions, login))) {
      return refused("Reviews may only be requested from collaborators.");
    }
    for (const one of [...people, ...teams]) {
      if (!pull.reviewers.includes(one)) pull.reviewers.push(one);
    }
    return Response.json(this.#shown(pull), { status: 201 });
  }

  #reviewRoutes(): readonly Route[] {
    const all = new RegExp(`^${IN}/pulls/([0-9]+)/reviews$`);
    const one = new RegExp(`^${IN}/pulls/([0-9]+)/reviews/([0-9]+)$`);
    return [
      {
        method: "GET",
        path: all,
        answer: (request) =>
          this.#with(request, (pull) => {
            const found = this.reviews.filter((review) => review.pull === pull).map(shownReview);
            return page(found, request, `/repos/${pull.repository}/pulls/${pull.number}/reviews`);
          }),
      },
      {
        method: "POST",
        path: all,
        needs: "pull_requests=write",
        answer: (request) => this.#with(request, (pull) => this.#review(pull, request)),
      },
      {
        method: "PUT",
        path: one,
        needs: "pull_requests=write",
        answer: (request) =>
          this.#with(request, (pull) => {
            const id = Number(request.match[2]);
            const review = this.reviews.find((found) => found.pull === pull && found.id === id);
            if (review === undefined) return problem(404, "Not Found");
            review.body = String(request.body["body"]);
            return Response.json(shownReview(review));
          }),
      },
    ];
  }

  async #review(pull: FakePull, { body, token }: RouteRequest): Promise<Response> {
    const event = String(body["event"] ?? "PENDING");
    const text = String(body["body"] ?? "");
    const comments = (body["comments"] ?? []) as FakeReview["comments"];
    const commit = String(body["commit_id"] ?? pull.head.sha);
    if (event !== "PENDING" && !EVENTS.includes(event)) {
      return refused("Variable $event is invalid");
    }
    if (event !== "COMMENT" && pull.user.login === token.login) {
      const what = event === "APPROVE" ? "approve" : "request changes on";
      return refused(`Can not ${what} your own pull request`);
    }
    if (text === "" && comments.length === 0) return refused("Body can't be blank");
    const range = `refs/heads/${pull.base}...${commit}`;
    const diff = await this.#git.tryRun(pull.repository, "diff", "-U3", range);
    if (diff === undefined) return refused("The commit is not part of the pull request");
    const lines = linesOf(diff);
    if (comments.some(({ path, line, side = "RIGHT" }) => !lines.has(`${path} ${side} ${line}`))) {
      return refused("Pull request review thread line must be part of the diff");
    }
    const review: FakeReview = {
      id: this.#fake().state.nextId(),
      pull,
      user: { login: token.login, id: token.id },
      commit,
      state: event === "COMMENT" ? "COMMENTED" : event,
      body: text,
      comments,
    };
    this.reviews.push(review);
    return Response.json(shownReview(review));
  }

  #commitRoutes(): readonly Route[] {
    return [
      {
        method: "GET",
        path: new RegExp(`^${IN}/compare/(.+)\\.\\.\\.(.+)$`),
        answer: ({ match: [repository = "", base = "", head = ""] }) =>
          this.#compare(repository, decodeURIComponent(base), decodeURIComponent(head)),
      },
      {
        method: "GET",
        path: new RegExp(`^${IN}/git/ref/heads/(.+)$`),
        answer: async ({ match: [repository = "", branch = ""] }) => {
          const ref = `refs/heads/${decodeURIComponent(branch)}`;
          const sha = await this.#git.find(repository, ref);
          if (sha === undefined) return problem(404, "Not Found");
          return Response.json({ ref, object: { type: "commit", sha } });
        },
      },
      {
        method: "GET",
        path: new RegExp(`^${IN}/branches/(.+)$`),
        answer: async ({ match: [repository = "", branch = ""] }) => {
          const name = decodeURIComponent(branch);
          const sha = await this.#git.find(repository, `refs/heads/${name}`);
          if (sha === undefined) return problem(404, "Branch not found");
          return Response.json({ name, commit: { sha }, protected: false });
        },
      },
      {
        method: "GET",
        path: new RegExp(`^${IN}/commits/([^/]+)$`),
        answer: async ({ match: [repository = "", revision = ""] }) => {
          const sha = await this.#git.find(repository, decodeURIComponent(revision));
          if (sha === undefined) return problem(422, `No commit found for SHA: ${revision}`);
          return Response.json(await this.#commit(repository, sha));
        },
      },
    ];
  }

  async #compare(repository: string, base: string, head: string): Promise<Response> {
    const [one, other] = [
      await this.#git.find(repository, base),
      await this.#git.find(repository, head),
    ];
    if (one === undefined || other === undefined) return problem(404, "Not Found");
    const merge = await this.#git.tryRun(repository, "merge-base", one, other);
    if (merge === undefined) return problem(404, `No common ancestor between ${base} and ${head}.`);
    const counts = await this.#git.run(
      repository,
      "rev-list",
      "--left-right",
      "--count",
      `${one}...${other}`,
    );
    const [behind = 0, ahead = 0] = counts.split("\t").map(Number);
    const list = await this.#git.run(repository, "rev-list", "--reverse", `${one}..${other}`);
    const shas = list.split("\n").filter((sha) => sha !== "").slice(0, 250);
    return Response.json({
      status: ahead === 0
        ? behind === 0 ? "identical" : "behind"
        : behind === 0
        ? "ahead"
        : "diverged",
      ahead_by: ahead,
      behind_by: behind,
      total_commits: ahead,
      merge_base_commit: { sha: merge },
      commits: await Promise.all(shas.map((sha) => this.#commit(repository, sha))),
    });
  }

  /** A commit as the event of a push shows it. */
  async #headCommit(repository: string, sha: string) {
    const { commit: { message, tree, author } } = await this.#commit(repository, sha);
    return { id: sha, tree_id: tree.sha, message, author };
  }

  async #commit(repository: string, sha: string) {
    const format = "%T%x00%P%x00%an%x00%ae%x00%aI%x00%B";
    const shown = await this.#git.run(repository, "show", "-s", `--format=${format}`, sha);
    const [tree, parents = "", name, email, date, message = ""] = shown.split("\0");
    return {
      sha,
      commit: { message: message.trim(), tree: { sha: tree }, author: { name, email, date } },
      parents: parents.split(" ").filter((one) => one !== "").map((parent) => ({ sha: parent })),
    };
  }

  /** A pull request as the API shows it. */
  #shown({ issue, ...pull }: FakePull) {
    const repo = (name: string) => ({ full_name: name, fork: name !== pull.repository });
    const side = (name: string, ref: string) => ({
      label: `${ownerOf(name)}:${ref}`,
      ref,
      user: { login: ownerOf(name) },
      repo: repo(name),
    });
    return {
      number: pull.number,
      node_id: `PR_${pull.number}`,
      html_url: `https://github.com/${pull.repository}/pull/${pull.number}`,
      title: issue.title,
      body: issue.body,
      state: issue.state,
      draft: pull.draft,
      merged: pull.merged,
      closed_at: pull.closedAt ?? null,
      merged_at: pull.merged ? this.#fake().state.now() : null,
      user: pull.user,
      labels: (issue.labels ?? []).map((name) => ({ name })),
      requested_reviewers: pull.reviewers.map((login) => ({ login })),
      head: { ...side(pull.head.repository, pull.head.branch), sha: pull.head.sha },
      base: side(pull.repository, pull.base),
    };
  }
}

/** The lines of a diff that a review can name: `PATH SIDE LINE`. */
function linesOf(diff: string): Set<string> {
  const lines = new Set<string>();
  let path = "";
  let [left, right] = [0, 0];
  for (const line of diff.split("\n")) {
    const file = /^(?:\+\+\+ b|--- a)\/(.*)$/.exec(line);
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (file !== null) path = file[1] ?? "";
    else if (hunk !== null) [left, right] = [Number(hunk[1]), Number(hunk[2])];
    else if (line.startsWith("+")) lines.add(`${path} RIGHT ${right++}`);
    else if (line.startsWith("-")) lines.add(`${path} LEFT ${left++}`);
    else if (line.startsWith(" ")) {
      lines.add(`${path} RIGHT ${right++}`);
      lines.add(`${path} LEFT ${left++}`);
    }
  }
  return lines;
}

function shownReview({ id, user, body, state, commit, pull }: FakeReview) {
  const html_url = `https://github.com/${pull.repository}/pull/${pull.number}` +
    `#pullrequestreview-${id}`;
  return { id, user, body, state, commit_id: commit, html_url };
}

function ownerOf(repository: string): string {
  return repository.split("/")[0] ?? "";
}

function invalid(field: string, code: string): Response {
  return problem(422, "Validation Failed", {}, [{ resource: "PullRequest", field, code }]);
}

function refused(message: string): Response {
  return problem(422, "Validation Failed", {}, [{
    resource: "PullRequest",
    code: "custom",
    message,
  }]);
}
