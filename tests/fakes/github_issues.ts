/**
 * Issues of the fake GitHub with comments, reactions and statuses of commits. A change sends its
 * event to the webhooks.
 *
 * @module
 */

import {
  type FakeState,
  type FakeToken,
  page,
  problem,
  type Route,
  type RouteRequest,
} from "./github.ts";
import type { HookRoutes } from "./github_hooks.ts";

export interface FakeUser {
  readonly login: string;
  readonly id: number;
}

/** An issue or a pull request. */
export interface FakeIssue {
  readonly repository: string;
  readonly number: number;
  title: string;
  body: string;
  readonly user: FakeUser;
  /** `open` when absent. */
  state?: "open" | "closed";
  /** None when absent. */
  labels?: string[];
  /** Its end, if it was deleted or moved to another repository. */
  gone?: 301 | 410;
  /** Head, commits and changed files, if it is a pull request. */
  readonly pull?: { sha: string; commits: string[]; files?: FakeFile[] };
}

/** A changed file of a pull request; without a patch a binary one, or one that is too long. */
export interface FakeFile {
  readonly filename: string;
  readonly patch?: string;
}

export interface FakeComment {
  readonly id: number;
  readonly repository: string;
  /** Number of its issue. */
  readonly issue: number;
  readonly user: FakeUser;
  body: string;
  readonly created_at: string;
  updated_at: string;
}

/** A reaction; `to` is `issues/NUMBER` or `issues/comments/ID`. */
export interface FakeReaction {
  readonly id: number;
  readonly repository: string;
  readonly to: string;
  readonly user: FakeUser;
  readonly content: string;
}

/** A status of a commit. */
export interface FakeStatus {
  readonly id: number;
  readonly repository: string;
  readonly sha: string;
  readonly state: string;
  readonly context: string;
  readonly description: string | null;
  readonly target_url: string | null;
}

/** A comment that a test writes. */
export interface NewComment {
  readonly repository: string;
  readonly issue: number;
  readonly user: FakeUser;
  readonly body: string;
  readonly association?: string;
}

const MAX_BODY = 65_536;
const CONTENTS = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];
const STATES = ["error", "failure", "pending", "success"];

/** Issues with their comments, reactions and statuses; their events go to `hooks`. */
export class FakeIssues {
  readonly issues: FakeIssue[] = [];
  readonly comments: FakeComment[] = [];
  readonly reactions: FakeReaction[] = [];
  readonly statuses: FakeStatus[] = [];
  readonly #state: FakeState;
  readonly #hooks: HookRoutes;

  constructor(state: FakeState, hooks: HookRoutes) {
    this.#state = state;
    this.#hooks = hooks;
  }

  /** Writes a comment and sends its event; resolves when every attempt to send it has ended. */
  async comment(given: NewComment): Promise<FakeComment> {
    const comment = this.#write(given);
    await this.#tell("created", comment, given.association ?? "NONE");
    return comment;
  }

  #write({ repository, issue, user, body }: NewComment): FakeComment {
    const id = this.#state.nextId();
    const now = this.#state.now();
    const comment = { id, repository, issue, user, body, created_at: now, updated_at: now };
    this.comments.push(comment);
    return comment;
  }

  /** The payload of an event of a comment. */
  payload(action: string, comment: FakeComment, association = "NONE"): string {
    const issue = this.find(comment.repository, comment.issue);
    return JSON.stringify({
      action,
      issue: issue === undefined ? { number: comment.issue } : shownIssue(issue),
      comment: { ...shown(comment), author_association: association },
      repository: { id: 1, full_name: comment.repository },
      sender: { ...comment.user, type: "User" },
    });
  }

  async #tell(action: string, comment: FakeComment, association: string): Promise<void> {
    const payload = this.payload(action, comment, association);
    await this.#hooks.send(comment.repository, { event: "issue_comment", payload });
  }

  find(repository: string, number: number): FakeIssue | undefined {
    return this.issues.find((one) => one.repository === repository && one.number === number);
  }

  get routes(): readonly Route[] {
    return [
      ...this.#commentRoutes(),
      ...this.#reactionRoutes("issues/[0-9]+"),
      ...this.#reactionRoutes("issues/comments/[0-9]+"),
      ...this.#statusRoutes(),
      ...this.#pullRoutes(),
    ];
  }

  /** Sends the event of an issue. */
  async tell(action: string, issue: FakeIssue, sender: FakeUser): Promise<void> {
    const payload = JSON.stringify({
      action,
      issue: shownIssue(issue),
      repository: { id: 1, full_name: issue.repository },
      sender: { ...sender, type: "User" },
    });
    await this.#hooks.send(issue.repository, { event: "issues", payload });
  }

  #commentRoutes(): readonly Route[] {
    const all = /^\/repos\/([^/]+\/[^/]+)\/issues\/([0-9]+)\/comments$/;
    const one = /^\/repos\/([^/]+\/[^/]+)\/issues\/comments\/([0-9]+)$/;
    const named = ({ match: [repository, id] }: RouteRequest) =>
      this.comments.find((found) => found.repository === repository && found.id === Number(id));
    return [
      {
        method: "GET",
        path: all,
        answer: (request) => {
          const { match: [repository = "", number], query } = request;
          const since = query.get("since") ?? "";
          const found = this.comments.filter((comment) =>
            comment.repository === repository && comment.issue === Number(number) &&
            Date.parse(comment.updated_at) >= (since === "" ? 0 : Date.parse(since))
          );
          return page(found.map(shown), request, `/repos/${repository}/issues/${number}/comments`);
        },
      },
      {
        method: "POST",
        path: all,
        needs: "issues=write",
        answer: ({ match: [repository = "", number], body: { body }, token }) => {
          if (this.find(repository, Number(number)) === undefined) return problem(404, "Not Found");
          const wrong = faultOfBody(body);
          if (wrong !== undefined) return wrong;
          const user = userOf(token);
          const comment = this.#write({
            repository,
            issue: Number(number),
            user,
            body: body as string,
          });
          this.#tell("created", comment, "OWNER");
          return Response.json(shown(comment), { status: 201 });
        },
      },
      {
        method: "GET",
        path: one,
        answer: (request) => {
          const found = named(request);
          return found === undefined ? problem(404, "Not Found") : Response.json(shown(found));
        },
      },
      {
        method: "PATCH",
        path: one,
        needs: "issues=write",
        answer: (request) => {
          const found = named(request);
          const { body } = request.body;
          if (found === undefined) return problem(404, "Not Found");
          const wrong = faultOfBody(body);
          if (wrong !== undefined) return wrong;
          found.body = body as string;
          found.updated_at = this.#state.now();
          this.#tell("edited", found, "OWNER");
          return Response.json(shown(found));
        },
      },
    ];
  }

  /** Routes of the reactions to an issue or a comment. */
  #reactionRoutes(to: string): readonly Route[] {
    const path = new RegExp(`^/repos/([^/]+/[^/]+)/(${to})/reactions$`);
    return [
      {
        method: "GET",
        path,
        answer: (request) => {
          const { match: [repository, target] } = request;
          const found = this.reactions.filter((one) =>
            one.repository === repository && one.to === target
          );
          return page(found, request, `/repos/${repository}/${target}/reactions`);
        },
      },
      {
        method: "POST",
        path,
        needs: "issues=write",
        answer: ({ match: [repository = "", target = ""], body: { content }, token }) => {
          if (!CONTENTS.includes(`${content}`)) return problem(422, "Validation Failed");
          const user = userOf(token);
          const same = this.reactions.find((one) =>
            one.repository === repository && one.to === target && one.user.id === user.id &&
            one.content === content
          );
          if (same !== undefined) return Response.json(same);
          const id = this.#state.nextId();
          const made = { id, repository, to: target, user, content: `${content}` };
          this.reactions.push(made);
          return Response.json(made, { status: 201 });
        },
      },
    ];
  }

  #statusRoutes(): readonly Route[] {
    return [
      {
        method: "POST",
        path: /^\/repos\/([^/]+\/[^/]+)\/statuses\/([0-9a-f]+)$/,
        needs: "statuses=write",
        answer: ({ match: [repository = "", sha = ""], body }) => {
          const { state, context = "default", description = null, target_url = null } = body;
          if (!STATES.includes(`${state}`)) return problem(422, "Validation Failed");
          if (typeof description === "string" && description.length > 140) {
            const message = "description is too long (maximum is 140 characters)";
            return problem(422, "Validation Failed", {}, [{ field: "description", message }]);
          }
          const isKnown = this.issues.some(({ pull }) => pull?.commits.includes(sha) === true);
          if (!isKnown) return problem(422, `No commit found for SHA: ${sha}`);
          const id = this.#state.nextId();
          const made = { id, repository, sha, state, context, description, target_url };
          this.statuses.push(made as FakeStatus);
          return Response.json(made, { status: 201 });
        },
      },
      {
        method: "GET",
        path: /^\/repos\/([^/]+\/[^/]+)\/commits\/([0-9a-f]+)\/statuses$/,
        answer: (request) => {
          const { match: [repository, sha] } = request;
          const found = this.statuses.filter((one) =>
            one.repository === repository && one.sha === sha
          ).reverse();
          return page(found, request, `/repos/${repository}/commits/${sha}/statuses`);
        },
      },
    ];
  }

  #pullRoutes(): readonly Route[] {
    const of = ({ match: [repository = "", number] }: RouteRequest) =>
      this.find(repository, Number(number))?.pull;
    return [
      {
        method: "GET",
        path: /^\/repos\/([^/]+\/[^/]+)\/pulls\/([0-9]+)$/,
        answer: (request) => {
          const pull = of(request);
          if (pull === undefined) return problem(404, "Not Found");
          return Response.json({ number: Number(request.match[1]), head: { sha: pull.sha } });
        },
      },
      {
        method: "GET",
        path: /^\/repos\/([^/]+\/[^/]+)\/pulls\/([0-9]+)\/commits$/,
        answer: (request) => {
          const pull = of(request);
          if (pull === undefined) return problem(404, "Not Found");
          const { match: [repository, number] } = request;
          const commits = pull.commits.map((sha) => ({ sha }));
          return page(commits, request, `/repos/${repository}/pulls/${number}/commits`);
        },
      },
    ];
  }
}

function userOf({ login, id }: FakeToken): FakeUser {
  return { login, id };
}

function faultOfBody(body: unknown): Response | undefined {
  if (typeof body !== "string" || body.trim() === "") {
    const message = "Body cannot be blank";
    return problem(422, "Validation Failed", {}, [{ resource: "IssueComment", message }]);
  }
  if (body.length <= MAX_BODY) return undefined;
  const message = `body is too long (maximum is ${MAX_BODY} characters)`;
  return problem(422, "Validation Failed", {}, [{ resource: "IssueComment", message }]);
}

/** A comment as the API shows it. */
function shown({ repository, issue, ...comment }: FakeComment) {
  const html_url = `https://github.com/${repository}/issues/${issue}#issuecomment-${comment.id}`;
  const issue_url = `https://api.github.com/repos/${repository}/issues/${issue}`;
  return { ...comment, html_url, issue_url };
}

function shownIssue({ number, title, body, user, pull, state = "open", labels = [] }: FakeIssue) {
  const issue = { number, title, body, user, state, labels: labels.map((name) => ({ name })) };
  return pull === undefined ? issue : { ...issue, pull_request: {} };
}
