/**
 * Reviews of the pull requests of the fake GitHub, with comments on lines of their diffs. A review sends
 * its events to the webhooks.
 *
 * @module
 */

import { type FakeState, page, problem, type Route, type RouteRequest } from "./github.ts";
import type { HookRoutes } from "./github_hooks.ts";
import type { FakeIssue, FakeIssues, FakeUser } from "./github_issues.ts";

export interface FakeReview {
  readonly id: number;
  readonly repository: string;
  /** Number of its pull request. */
  readonly pull: number;
  readonly user: FakeUser;
  body: string;
  state: "COMMENTED" | "CHANGES_REQUESTED" | "APPROVED" | "DISMISSED";
  readonly commit_id: string;
  readonly comments: readonly FakeLineComment[];
}

/** A comment on lines, as the API takes it. */
export interface FakeLineComment {
  readonly path: string;
  readonly line: number;
  readonly side?: "LEFT" | "RIGHT";
  readonly start_line?: number;
  readonly start_side?: "LEFT" | "RIGHT";
  readonly body: string;
}

const STATES: Readonly<Record<string, FakeReview["state"]>> = {
  COMMENT: "COMMENTED",
  REQUEST_CHANGES: "CHANGES_REQUESTED",
  APPROVE: "APPROVED",
};

/** Reviews of the pull requests in `issues`. */
export class FakeReviews {
  readonly reviews: FakeReview[] = [];
  readonly #issues: FakeIssues;
  readonly #state: FakeState;
  readonly #hooks: HookRoutes;

  constructor(issues: FakeIssues, state: FakeState, hooks: HookRoutes) {
    this.#issues = issues;
    this.#state = state;
    this.#hooks = hooks;
  }

  get routes(): readonly Route[] {
    const all = /^\/repos\/([^/]+\/[^/]+)\/pulls\/([0-9]+)\/reviews$/;
    const one = /^\/repos\/([^/]+\/[^/]+)\/pulls\/([0-9]+)\/reviews\/([0-9]+)$/;
    const pullOf = ({ match: [repository = "", number] }: RouteRequest) => {
      const found = this.#issues.find(repository, Number(number));
      return found?.pull === undefined ? undefined : found;
    };
    const named = ({ match: [repository, number, id] }: RouteRequest) =>
      this.reviews.find((review) =>
        review.repository === repository && review.pull === Number(number) &&
        review.id === Number(id)
      );
    return [
      {
        method: "GET",
        path: all,
        answer: (request) => {
          const { match: [repository, number] } = request;
          const found = this.reviews.filter((review) =>
            review.repository === repository && review.pull === Number(number)
          );
          return page(found.map(shown), request, `/repos/${repository}/pulls/${number}/reviews`);
        },
      },
      {
        method: "POST",
        path: all,
        needs: "pull_requests=write",
        answer: (request) => {
          const pull = pullOf(request);
          return pull === undefined ? problem(404, "Not Found") : this.#make(pull, request);
        },
      },
      {
        method: "PUT",
        path: one,
        needs: "pull_requests=write",
        answer: (request) => {
          const found = named(request);
          if (found === undefined) return problem(404, "Not Found");
          found.body = String(request.body["body"]);
          this.#tell("edited", found);
          return Response.json(shown(found));
        },
      },
      {
        method: "GET",
        path: /^\/repos\/([^/]+\/[^/]+)\/pulls\/([0-9]+)\/reviews\/([0-9]+)\/comments$/,
        answer: (request) => {
          const found = named(request);
          if (found === undefined) return problem(404, "Not Found");
          const { match: [repository, number, id] } = request;
          const path = `/repos/${repository}/pulls/${number}/reviews/${id}/comments`;
          return page(found.comments, request, path);
        },
      },
      {
        method: "GET",
        path: /^\/repos\/([^/]+\/[^/]+)\/pulls\/([0-9]+)\/files$/,
        answer: (request) => {
          const files = pullOf(request)?.pull?.files;
          if (files === undefined) return problem(404, "Not Found");
          const { match: [repository, number] } = request;
          return page(files, request, `/repos/${repository}/pulls/${number}/files`);
        },
      },
    ];
  }

  #make({ repository, number, pull, user: author }: FakeIssue, request: RouteRequest): Response {
    const { body: { body, event, commit_id, comments = [] }, token } = request;
    const state = STATES[String(event)];
    if (state === undefined || typeof body !== "string" || body.trim() === "") {
      return problem(422, "Unprocessable Entity");
    }
    if (event !== "COMMENT" && author.id === token.id) {
      return problem(422, "Can not approve your own pull request");
    }
    if (pull?.commits.includes(String(commit_id)) !== true) {
      return problem(422, "No commit found for SHA");
    }
    const lines = comments as readonly FakeLineComment[];
    // it does not say which one
    if (!lines.every((comment) => isShown(comment, pull.files ?? []))) {
      return problem(422, "Line could not be resolved");
    }
    const review: FakeReview = {
      id: this.#state.nextId(),
      repository,
      pull: number,
      user: { login: token.login, id: token.id },
      body,
      state,
      commit_id: String(commit_id),
      comments: lines,
    };
    this.reviews.push(review);
    this.#tell("submitted", review);
    return Response.json(shown(review));
  }

  async #tell(action: string, review: FakeReview): Promise<void> {
    const { repository, pull, user } = review;
    const shared = {
      pull_request: { number: pull, head: { sha: review.commit_id } },
      repository: { id: 1, full_name: repository },
      sender: { ...user, type: "User" },
    };
    const payload = JSON.stringify({ action, review: shown(review), ...shared });
    await this.#hooks.send(repository, { event: "pull_request_review", payload });
    for (const comment of action === "submitted" ? review.comments : []) {
      const payload = JSON.stringify({ action: "created", comment, ...shared });
      await this.#hooks.send(repository, { event: "pull_request_review_comment", payload });
    }
  }
}

/** Whether the diff of a file shows the lines of a comment, counted from its parts by hand. */
function isShown(
  { path, line, side = "RIGHT", start_line = line }: FakeLineComment,
  files: readonly { readonly filename: string; readonly patch?: string }[],
): boolean {
  const patch = files.find(({ filename }) => filename === path)?.patch ?? "";
  const hunks = patch.split(/^(?=@@ )/m);
  return hunks.some((hunk) => {
    const [, left = 0, right = 0] = /^@@ -(\d+)\S* \+(\d+)/.exec(hunk) ?? [];
    const other = side === "LEFT" ? "+" : "-";
    const length = hunk.split("\n").slice(1)
      .filter((text) => text !== "" && !text.startsWith(other) && !text.startsWith("\\")).length;
    const first = Number(side === "LEFT" ? left : right);
    return start_line >= first && line < first + length && start_line <= line;
  });
}

/** A review as the API shows it. */
function shown({ repository: _of, pull: _number, comments: _lines, ...review }: FakeReview) {
  return review;
}
