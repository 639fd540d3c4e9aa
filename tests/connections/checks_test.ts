/**
 * What has looked at a commit, as each forge says it: which of several runs counts, what a word means, and
 * what the commit is then.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { type CheckState, type ForgeName, stateOfChecks } from "../../src/base/forge_names.ts";
import { CallFailed, type FoundCheck } from "../../src/connections/api/forge.ts";
import type { RestAnswer } from "../../src/connections/api/rest.ts";
import type { Connection } from "../../src/connections/find_connection.ts";
import { FORGES_BY_NAME } from "../../src/connections/forges.ts";

const SHA = "9be7a2d05c41f386e31f6c8a47d24f0c61d2b97a";
type Items = readonly Record<string, unknown>[];
/** The answers by the end of a path; a number is the status of a refusal. */
type Answers = Readonly<Record<string, Items | number>>;

const MEMBERS: Readonly<Record<string, string>> = {
  "check-suites": "check_suites",
  "check-runs": "check_runs",
  "actions/runs": "workflow_runs",
};

/** The checks of the commit; `pages` is the number of items of a page. */
async function checksAt(
  forge: ForgeName,
  answers: Answers,
  { github = {}, pages = 1000 }: {
    readonly github?: Record<string, unknown>;
    readonly pages?: number;
  } = {},
): Promise<readonly FoundCheck[] | undefined> {
  const call = ({ path }: { readonly path: string }): Promise<RestAnswer> => {
    const [what = "", query = ""] = path.split("?");
    const end = Object.keys(answers).find((one) => what.endsWith(one)) ?? "";
    const given = answers[end] ?? [];
    if (typeof given === "number") {
      const failure = { ok: false, kind: "refused", status: given, message: `${given}` } as const;
      return Promise.resolve(failure);
    }
    const from = Number(new URLSearchParams(query).get("at") ?? 0);
    const items = given.slice(from, from + pages);
    const member = MEMBERS[end];
    const next = from + pages < given.length ? { next: `${what}?at=${from + pages}` } : {};
    const data = member === undefined ? items : { total_count: given.length, [member]: items };
    const answer = { ok: true, status: 200, data, text: "", headers: new Headers() } as const;
    return Promise.resolve({ ...answer, ...next });
  };
  const connection = { spec: { [forge]: github } } as unknown as Connection;
  const at = FORGES_BY_NAME[forge].open({
    connection,
    repository: "acme/site",
    clock: systemClock,
    call,
  });
  return await at.checksOf(SHA);
}

const shown = (checks: readonly FoundCheck[] | undefined) =>
  checks?.map(({ name, state, said }) => `${name} ${state} ${said}`);

const suite = (id: number, more: Record<string, unknown> = {}) => ({
  id,
  status: "completed",
  conclusion: "success",
  app: { id: 15368, slug: "github-actions", name: "GitHub Actions" },
  ...more,
});
const run = (name: string, of: number, more: Record<string, unknown> = {}) => ({
  name,
  status: "completed",
  conclusion: "success",
  html_url: `https://github.com/acme/site/runs/${of}`,
  check_suite: { id: of },
  app: { id: 15368 },
  ...more,
});
const workflow = (id: number, of: number, more: Record<string, unknown> = {}) => ({
  id,
  check_suite_id: of,
  workflow_id: 1,
  event: "push",
  head_branch: "svc/fix",
  ...more,
});

Deno.test("checks: a commit is red by one, then pending by one, then green", () => {
  const rows: readonly [string, CheckState | "none"][] = [
    ["", "none"],
    ["green", "green"],
    ["green pending", "pending"],
    ["pending red green", "red"],
    ["red", "red"],
  ];
  for (const [states, expected] of rows) {
    const checks = states.split(" ").filter((one) => one !== "")
      .map((state) => ({ state: state as CheckState }));
    equal(stateOfChecks(checks), expected, states);
  }
});

Deno.test("checks: every end of a check run, and every state of one that runs", async () => {
  const rows: readonly [status: string, conclusion: string | null, state: CheckState][] = [
    ["completed", "success", "green"],
    ["completed", "neutral", "green"],
    ["completed", "skipped", "green"],
    ["completed", "failure", "red"],
    ["completed", "cancelled", "red"],
    ["completed", "timed_out", "red"],
    ["completed", "action_required", "red"],
    ["completed", "stale", "red"],
    ["completed", "startup_failure", "red"],
    ["completed", "of next year", "red"],
    ["completed", null, "red"],
    ["queued", null, "pending"],
    ["in_progress", null, "pending"],
    ["waiting", null, "pending"],
    ["of next year", null, "pending"],
  ];
  for (const [status, conclusion, state] of rows) {
    const runs = [run("build", 1, { status, conclusion })];
    const [found] = await checksAt("github", { "check-suites": [suite(1)], "check-runs": runs }) ??
      [];
    deepEqual(
      [found?.state, found?.said],
      [state, status === "completed" ? conclusion ?? "" : status],
      `${status} ${conclusion}`,
    );
  }
});

Deno.test("checks: a newer run of the same workflow replaces an older one, and nothing else", async () => {
  const suites = [1, 2, 3, 4].map((id) => suite(id));
  const runs = [
    run("build", 1, { conclusion: "cancelled" }),
    run("build", 2),
    run("build", 3, { conclusion: "failure" }),
    run("build", 4),
  ];
  const answers = { "check-suites": suites, "check-runs": runs };
  const all = [workflow(11, 1), workflow(12, 2)];
  const rows: readonly [what: string, runs: Items | number, found: string][] = [
    ["the same", [...all, workflow(13, 3), workflow(14, 4)], "success"],
    ["the newest comes first", [workflow(14, 4), workflow(13, 3), ...all], "success"],
    [
      "another workflow, event and branch",
      [
        ...all,
        workflow(13, 3, { workflow_id: 2 }),
        workflow(14, 4, { event: "pull_request" }),
      ],
      "success failure success",
    ],
    [
      "another branch",
      [workflow(11, 1, { head_branch: "main" }), workflow(12, 2)],
      "cancelled " +
      "success failure success",
    ],
    [
      "one without a number",
      [workflow(14, 4, { id: "x" }), workflow(13, 3), ...all],
      "failure success",
    ],
    ["one listed twice", [...all, workflow(13, 3), workflow(13, 3)], "failure success"],
    ["a token without the right", 403, "cancelled success failure success"],
    ["a server without Actions", 404, "cancelled success failure success"],
  ];
  for (const [what, workflows, expected] of rows) {
    const found = await checksAt("github", { ...answers, "actions/runs": workflows });
    equal(found?.map(({ said }) => said).join(" "), expected, what);
  }
});

Deno.test("checks: a suite without runs counts where it says something", async () => {
  const other = { app: { id: 7, slug: "other", name: "Other" } };
  const bare = (status: string, conclusion: string | null, more = {}) =>
    suite(1, { status, conclusion, ...more });
  const rows: readonly [Record<string, unknown>, string[]][] = [
    [bare("queued", null, other), []],
    [bare("completed", "success"), []],
    [bare("completed", null), []],
    [bare("queued", null), ["GitHub Actions pending queued"]],
    [bare("completed", "startup_failure"), ["GitHub Actions red startup_failure"]],
    [bare("completed", "action_required", other), ["Other red action_required"]],
  ];
  for (const [one, expected] of rows) {
    deepEqual(shown(await checksAt("github", { "check-suites": [one] })), expected);
  }
});

Deno.test("checks: of statuses the newest of a context counts, at GitHub and at Gitea", async () => {
  const statuses = [
    { id: 3, context: "ci/build", state: "pending", target_url: "https://ci.example.com/3" },
    { id: 5, context: "ci/build", state: "failure", target_url: "javascript:alert(1)" },
    { id: 4, context: "ci/build", state: "success" },
    { id: 1, context: "ci/lint", state: "success" },
    { id: 2, context: "ci/docs", state: "error" },
    { id: 6, context: "ci/odd", state: "of next year" },
  ];
  const expected = [
    "ci/build red failure",
    "ci/lint green success",
    "ci/docs red error",
    "ci/odd red of next year",
  ];
  const found = await checksAt("github", { statuses });
  deepEqual(shown(found), expected);
  deepEqual(found?.map(({ url }) => url), ["", "", "", ""]);
  const gitea = { api: "https://git.example.com/api/v1" };
  // Gitea has no suites: the call would be refused.
  const odd = { statuses: statuses.map(({ state, ...one }) => ({ ...one, status: state })) };
  deepEqual(
    shown(await checksAt("github", { ...odd, "check-suites": 404 }, { github: gitea })),
    expected,
  );
  const skipped = [{ id: 1, context: "ci/docs", status: "skipped" }];
  deepEqual(shown(await checksAt("github", { statuses: skipped }, { github: gitea })), [
    "ci/docs green skipped",
  ]);
});

Deno.test("checks: svc may have set statuses, and check runs of its own App", async () => {
  const answers = {
    statuses: [{ id: 1, context: "svc/fix", state: "pending" }],
    "check-suites": [suite(1), suite(2)],
    "check-runs": [run("build", 1), run("svc/review", 2, { app: { id: 77 } })],
  };
  const app = { app: { id: 77 } };
  const settable = (checks: readonly FoundCheck[] | undefined) =>
    checks?.filter(({ isSettable }) => isSettable).map(({ name }) => name);
  deepEqual(settable(await checksAt("github", answers, { github: app })), [
    "svc/review",
    "svc/fix",
  ]);
  deepEqual(settable(await checksAt("github", answers)), ["svc/fix"]);
});

Deno.test("checks: of a pipeline the newest job of a name on a ref counts", async () => {
  const job = (id: number, name: string, status: string, more: Record<string, unknown> = {}) => ({
    id,
    name,
    status,
    ref: "svc/fix",
    allow_failure: false,
    target_url: `https://gitlab.com/acme/site/-/jobs/${id}`,
    ...more,
  });
  const statuses = [
    job(1, "build", "failed"),
    job(9, "build", "success"),
    job(3, "build", "failed", { ref: "refs/merge-requests/1/head" }),
    job(4, "lint", "failed", { allow_failure: true }),
    job(5, "deploy", "manual", { allow_failure: true }),
    job(6, "gate", "manual"),
    job(7, "docs", "skipped"),
    job(8, "svc/fix", "pending", { target_url: null }),
    job(10, "odd", "of next year"),
    job(11, "test", "canceled"),
    job(12, "perf", "running", { allow_failure: true }),
  ];
  const found = await checksAt("gitlab", { statuses }, { pages: 4 });
  deepEqual(shown(found), [
    "build green success",
    "build red failed",
    "lint green failed",
    "deploy green manual",
    "gate pending manual",
    "docs green skipped",
    "svc/fix pending pending",
    "odd red of next year",
    "test red canceled",
    "perf pending running",
  ]);
  deepEqual(found?.filter(({ isSettable }) => isSettable).map(({ name }) => name), ["svc/fix"]);
});

Deno.test("checks: a pipeline without jobs is one itself", async () => {
  const pipeline = (id: number, status: string) => ({
    id,
    status,
    ref: "svc/fix",
    source: "push",
    web_url: `https://gitlab.com/acme/site/-/pipelines/${id}`,
  });
  const pipelines = [pipeline(2, "failed"), pipeline(1, "success")];
  const found = await checksAt("gitlab", { pipelines });
  deepEqual(shown(found), ["pipeline 2 red failed"]);
  equal(found?.[0]?.url, "https://gitlab.com/acme/site/-/pipelines/2");
});

Deno.test("checks: all pages are read, and a list without an end ends", async () => {
  const many = Array.from({ length: 45 }, (_, at) => run(`job ${at}`, 1));
  const answers = { "check-suites": [suite(1)], "check-runs": many };
  equal((await checksAt("github", answers, { pages: 10 }))?.length, 45);
  await rejects(checksAt("github", answers, { pages: 1 }), {
    code: "refused",
    message: /has more than 20 pages/,
  });
});

Deno.test("checks: a commit that is not there, and a refusal", async () => {
  const rows: readonly [ForgeName, Answers][] = [
    ["github", { statuses: 404 }],
    ["github", { statuses: [], "check-suites": 422 }],
    ["gitlab", { statuses: 404 }],
  ];
  for (const [forge, answers] of rows) equal(await checksAt(forge, answers), undefined);
  for (const forge of ["github", "gitlab"] as const) {
    await rejects(checksAt(forge, { statuses: 403 }), CallFailed);
    deepEqual(await checksAt(forge, {}), []);
  }
});

Deno.test("checks: text from outside is shown on one line, and cut", async () => {
  const name = `build\n\u001b[31m${"x".repeat(300)}`;
  const runs = [run(name, 1, { html_url: "file:///etc/passwd" })];
  const [found] = await checksAt("github", { "check-suites": [suite(1)], "check-runs": runs }) ??
    [];
  equal(found?.name.length, 200);
  equal(/\p{Cc}/u.test(found?.name ?? ""), false);
  equal(found?.url, "");
});
