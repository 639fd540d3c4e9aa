/**
 * Routes of issues and labels of the fake GitHub: what opens, lists and labels them.
 *
 * @module
 */

import { type FakeState, page, problem, type Route, type RouteRequest } from "./github.ts";
import type { FakeIssue, FakeIssues } from "./github_issues.ts";

const IN = "/repos/([^/]+/[^/]+)";

/** Names of labels of each repository, as `OWNER/NAME`; all others are made when they are used. */
const DEFAULT_LABELS = ["bug", "automated", "area/docs", "triage", "Good first issue", "50%"];

const MAX = { title: 256, body: 65_536 };

/** The routes. */
export function issueRoutes(issues: FakeIssues, state: FakeState): readonly Route[] {
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
    const issue = issues.find(repository, Number(number));
    if (issue?.gone !== undefined) return problem(issue.gone, "It is not here any more");
    return issue === undefined ? problem(404, "Not Found") : answer(issue);
  };
  /** A label as its repository writes it: labels have no case. */
  const written = (repository: string, name: string) =>
    [...labelsOf(repository)].find((label) => label.toLowerCase() === name.toLowerCase());
  /** Labels as they are written; GitHub makes those that the repository lacks. */
  const made = (repository: string, names: readonly string[]) =>
    names.map((name) => {
      const known = written(repository, name);
      if (known === undefined) labelsOf(repository).add(name);
      return known ?? name;
    });
  const one = new RegExp(`^${IN}/issues/([0-9]+)$`);
  const itsLabels = new RegExp(`^${IN}/issues/([0-9]+)/labels$`);
  return [
    {
      method: "GET",
      path: new RegExp(`^${IN}/issues$`),
      answer(request) {
        const { match: [repository = ""], query } = request;
        const wantedState = query.get("state") ?? "open";
        const creator = query.get("creator");
        const wanted = query.get("labels")?.split(",") ?? [];
        const found = issues.issues.filter((issue) =>
          issue.repository === repository && issue.gone === undefined &&
          (wantedState === "all" || (issue.state ?? "open") === wantedState) &&
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
        if (!state.repositories.has(repository)) return problem(404, "Not Found");
        if (typeof body["title"] !== "string" || body["title"] === "") {
          const error = { resource: "Issue", field: "title", code: "missing_field" };
          return problem(422, "Validation Failed", {}, [error]);
        }
        const tooLong = faultOfLength(body);
        if (tooLong !== undefined) return tooLong;
        const same = issues.issues.filter((issue) => issue.repository === repository);
        const issue: FakeIssue = {
          repository,
          number: Math.max(0, ...same.map(({ number }) => number)) + 1,
          title: body["title"],
          body: String(body["body"] ?? ""),
          user: { login, id },
          state: "open",
          labels: made(repository, body["labels"] as string[] ?? []),
        };
        issues.issues.push(issue);
        void issues.tell("opened", issue, issue.user);
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
          const tooLong = faultOfLength(request.body);
          if (tooLong !== undefined) return tooLong;
          if (typeof title === "string") issue.title = title;
          if (typeof body === "string") issue.body = body;
          if (state === "open" || state === "closed") issue.state = state;
          if (Array.isArray(labels)) issue.labels = made(issue.repository, labels);
          void issues.tell("edited", issue, request.token);
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
        const label = written(repository, decodeURIComponent(name));
        return label === undefined ? problem(404, "Not Found") : Response.json({ name: label });
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
          const added = made(issue.repository, request.body["labels"] as string[]);
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
          const given = decodeURIComponent(request.match[2] ?? "");
          const name = written(issue.repository, given) ?? given;
          if (issue.labels?.includes(name) !== true) return problem(404, "Label does not exist");
          issue.labels = issue.labels.filter((label) => label !== name);
          return Response.json(issue.labels.map((label) => ({ name: label })));
        }),
    },
  ];
}

function faultOfLength(given: Record<string, unknown>): Response | undefined {
  for (const field of ["title", "body"] as const) {
    if ([...String(given[field] ?? "")].length <= MAX[field]) continue;
    const message = `${field} is too long (maximum is ${MAX[field]} characters)`;
    return problem(422, "Validation Failed", {}, [{ resource: "Issue", field, message }]);
  }
  return undefined;
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
