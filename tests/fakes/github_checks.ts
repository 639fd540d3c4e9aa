/**
 * Check runs of the fake GitHub: of Apps only, at most 50 annotations a call, which are added to those
 * that are there. Each App has one suite for a commit.
 *
 * @module
 */

import { type FakeState, page, problem, type Route, type RouteRequest } from "./github.ts";

export interface FakeCheckRun {
  readonly id: number;
  readonly repository: string;
  readonly head_sha: string;
  /** Login of its App. */
  readonly app: string;
  name: string;
  status: string;
  conclusion: string | null;
  external_id: string;
  title: string;
  summary: string;
  readonly annotations: Record<string, unknown>[];
}

export class FakeChecks {
  readonly runs: FakeCheckRun[] = [];
  /** Commits that are nowhere. */
  readonly unknown = new Set<string>();
  readonly #state: FakeState;

  constructor(state: FakeState) {
    this.#state = state;
  }

  get routes(): readonly Route[] {
    return [
      {
        method: "POST",
        path: /^\/repos\/([^/]+\/[^/]+)\/check-runs$/,
        needs: "checks=write",
        answer: (request) => {
          const { match: [repository = ""], token, body } = request;
          const wrong = faultOf(request);
          if (wrong !== undefined) return wrong;
          const run: FakeCheckRun = {
            id: this.#state.nextId(),
            repository,
            head_sha: String(body["head_sha"]),
            app: token.login,
            name: String(body["name"]),
            status: "queued",
            conclusion: null,
            external_id: "",
            title: "",
            summary: "",
            annotations: [],
          };
          this.runs.push(run);
          set(run, body);
          return Response.json(shown(run), { status: 201 });
        },
      },
      {
        method: "PATCH",
        path: /^\/repos\/([^/]+\/[^/]+)\/check-runs\/([0-9]+)$/,
        needs: "checks=write",
        answer: (request) => {
          const { match: [repository, id], token, body } = request;
          const run = this.runs.find((one) => one.repository === repository && `${one.id}` === id);
          if (run === undefined) return problem(404, "Not Found");
          if (run.app !== token.login) return problem(403, "Invalid app_id");
          const wrong = faultOf(request);
          if (wrong !== undefined) return wrong;
          set(run, body);
          return Response.json(shown(run));
        },
      },
      {
        method: "GET",
        path: /^\/repos\/([^/]+\/[^/]+)\/commits\/([0-9a-f]+)\/check-runs$/,
        answer: async (request) => {
          const { match: [repository = "", sha = ""], query } = request;
          const name = query.get("check_name");
          const found = this.runs.filter((run) =>
            run.repository === repository && run.head_sha === sha &&
            (name === null || run.name === name)
          ).reverse();
          const path = `/repos/${repository}/commits/${sha}/check-runs`;
          const list = page(found.map(shown), request, path);
          const check_runs = await list.json();
          return Response.json({ total_count: found.length, check_runs }, {
            headers: list.headers,
          });
        },
      },
      {
        method: "GET",
        path: /^\/repos\/([^/]+\/[^/]+)\/commits\/([0-9a-f]+)\/check-suites$/,
        answer: ({ match: [repository = "", sha = ""] }) => {
          if (this.unknown.has(sha)) return problem(422, `No commit found for SHA: ${sha}`);
          const apps = new Set(
            this.runs.filter((run) => run.repository === repository && run.head_sha === sha)
              .map(({ app }) => app),
          );
          const check_suites = [...apps].map((app) => ({ id: suiteOf(app), status: "completed" }));
          return Response.json({ total_count: check_suites.length, check_suites });
        },
      },
    ];
  }
}

function faultOf({ token, body }: RouteRequest): Response | undefined {
  if (!token.login.endsWith("[bot]")) {
    return problem(403, "You must authenticate via a GitHub App.");
  }
  const output = body["output"] as { annotations?: unknown[] } | undefined;
  if ((output?.annotations ?? []).length > 50) {
    return problem(422, "Invalid request. No more than 50 annotations are allowed.");
  }
  if (body["status"] === "completed" && body["conclusion"] === undefined) {
    return problem(422, "Invalid request. conclusion is required when status is completed.");
  }
  return undefined;
}

function set(run: FakeCheckRun, body: Record<string, unknown>): void {
  const { status, conclusion = null, external_id = run.external_id } = body;
  const output = body["output"] as
    | { title: string; summary: string; annotations?: Record<string, unknown>[] }
    | undefined;
  Object.assign(run, { status, conclusion, external_id });
  if (output === undefined) return;
  run.title = output.title;
  run.summary = output.summary;
  run.annotations.push(...output.annotations ?? []);
}

function shown({ repository, annotations, title, summary, app, ...run }: FakeCheckRun) {
  const output = { title, summary, annotations_count: annotations.length };
  return {
    ...run,
    output,
    html_url: `https://github.com/${repository}/runs/${run.id}`,
    app: { slug: app.replace("[bot]", "") },
    check_suite: { id: suiteOf(app) },
  };
}

/** The suite of an App: a number that its name tells. */
function suiteOf(app: string): number {
  return [...app].reduce((sum, letter) => sum * 31 % 1_000_003 + letter.charCodeAt(0), 7);
}
