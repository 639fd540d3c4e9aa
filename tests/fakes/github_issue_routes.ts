/**
 * Routes of issues and labels of the fake GitHub: what opens, lists and labels them.
 *
 * @module
 */

import { type FakeGitHub, page, problem, type Route, type RouteRequest } from "./github.ts";
import type { FakeIssue } from "./github_issues.ts";

const IN = "/repos/([^/]+/[^/]+)";

/** Names of labels of each repository, as `OWNER/NAME`; all others are made when they are used. */
const DEFAULT_LABELS = ["bug", "automated", "area/docs", "triage"];

/** The routes. */
export function issueRoutes(fake: () => FakeGitHub): readonly Route[] {
  const labels = new Map<string, Set<string>>();
  const labelsOf = (repository: string) => {
    const known = labels.get(repository) ?? new Set(DEFAULT_LABELS);
    labels.set(repository, known);
    return known;
  };
  const withIssue = (
    { match: [repository = "", number] }: RouteRequest,
    answer: (issue: FakeIssue) => Response,
  ) => {
    const issue = fake().issues.find(repository, Number(number));
    return issue === undefined ? problem(404, "Not Found") : answer(issue);
  };
  const one = new RegExp(`^${IN}/issues/([0-9]+)$`);
  const itsLabels = new RegExp(`^${IN}/issues/([0-9]+)/labels$`);
  return [
    {
      method: "GET",
      path: new RegExp(`^${IN}/issues$`),
      answer(request) {
        const { match: [repository = ""], query } = request;
        const state = query.get("state") ?? "open";
        const creator = query.get("creator");
        const wanted = query.get("labels")?.split(",") ?? [];
        const found = fake().issues.issues.filter((issue) =>
          issue.repository === repository &&
          (state === "all" || (issue.state ?? "open") === state) &&
          (creator === null || issue.user.login === creator) &&
          wanted.every((label) => issue.labels?.includes(label) === true)
        ).toReversed();
        return page(found.map(shown), request, `/repos/${repository}/issues`);
      },
    },
    {
      method: "POST",
      path: new RegExp(`^${IN}/issues$`),
      needs: "issues=write",
      answer({ match: [repository = ""], body, token: { login, id } }) {
        const { issues, state } = fake();
        if (!state.repositories.has(repository)) return problem(404, "Not Found");
        if (typeof body["title"] !== "string" || body["title"] === "") {
          const error = { resource: "Issue", field: "title", code: "missing_field" };
          return problem(422, "Validation Failed", {}, [error]);
        }
        const same = issues.issues.filter((issue) => issue.repository === repository);
        const issue: FakeIssue = {
          repository,
          number: Math.max(0, ...same.map(({ number }) => number)) + 1,
          title: body["title"],
          body: String(body["body"] ?? ""),
          user: { login, id },
          state: "open",
          labels: [...body["labels"] as string[] ?? []],
        };
        issues.issues.push(issue);
        return Response.json(shown(issue), { status: 201 });
      },
    },
    {
      method: "GET",
      path: one,
      answer: (request) => withIssue(request, (issue) => Response.json(shown(issue))),
    },
    {
      method: "PATCH",
      path: one,
      needs: "issues=write",
      answer: (request) =>
        withIssue(request, (issue) => {
          const { title, body, state, labels } = request.body;
          if (typeof title === "string") issue.title = title;
          if (typeof body === "string") issue.body = body;
          if (state === "open" || state === "closed") issue.state = state;
          if (Array.isArray(labels)) issue.labels = [...labels];
          return Response.json(shown(issue));
        }),
    },
    {
      method: "GET",
      path: new RegExp(`^${IN}/labels$`),
      answer(request) {
        const { match: [repository = ""] } = request;
        const names = [...labelsOf(repository)].map((name) => ({ name }));
        return page(names, request, `/repos/${repository}/labels`);
      },
    },
    {
      method: "GET",
      path: new RegExp(`^${IN}/labels/(.+)$`),
      answer({ match: [repository = "", name = ""] }) {
        const label = decodeURIComponent(name);
        return labelsOf(repository).has(label)
          ? Response.json({ name: label })
          : problem(404, "Not Found");
      },
    },
    {
      method: "GET",
      path: itsLabels,
      answer: (request) =>
        withIssue(
          request,
          ({ labels: names = [] }) =>
            page(names.map((name) => ({ name })), request, request.match.join("/")),
        ),
    },
    {
      method: "POST",
      path: itsLabels,
      needs: "issues=write",
      answer: (request) =>
        withIssue(request, (issue) => {
          const added = request.body["labels"] as string[];
          for (const name of added) labelsOf(issue.repository).add(name); // GitHub makes others
          issue.labels = [...new Set([...issue.labels ?? [], ...added])];
          return Response.json(issue.labels.map((name) => ({ name })));
        }),
    },
    {
      method: "DELETE",
      path: new RegExp(`^${IN}/issues/([0-9]+)/labels/(.+)$`),
      needs: "issues=write",
      answer: (request) =>
        withIssue(request, (issue) => {
          const name = decodeURIComponent(request.match[2] ?? "");
          if (issue.labels?.includes(name) !== true) return problem(404, "Label does not exist");
          issue.labels = issue.labels.filter((label) => label !== name);
          return Response.json(issue.labels.map((label) => ({ name: label })));
        }),
    },
  ];
}

function shown(
  { repository, number, title, body, user, state = "open", labels = [], pull }: FakeIssue,
) {
  const kind = pull === undefined ? "issues" : "pull";
  return {
    number,
    title,
    body,
    user,
    state,
    labels: labels.map((name) => ({ name })),
    html_url: `https://github.com/${repository}/${kind}/${number}`,
    ...pull !== undefined && { pull_request: {} },
  };
}
