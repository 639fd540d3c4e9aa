/**
 * Issues that tasks file at GitHub, by what only GitHub does; thread_kinds_test.ts has the rules of all
 * forges.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { FakeIssue } from "../fakes/github_issues.ts";
import { problem, TOKEN } from "../fakes/github.ts";
import { issueKinds } from "../../src/outbox/issue.ts";
import { githubSending, REPOSITORY } from "../rigs/github_sending.ts";

const BODY = {
  workflow: "triage",
  asker: "octocat",
  title: "[svc] Flaky",
  text: "Failed, @mona",
  labels: ["automated"],
  asked: [],
  open: 5,
};
const KEYED = { target: {}, body: BODY, key: "triage/42/flaky" };

const rig = () => githubSending(issueKinds);

/** The one issue of the fake. */
function only(issues: readonly FakeIssue[]): FakeIssue {
  const [issue] = issues;
  ok(issue !== undefined && issues.length === 1, `${issues.length} issues`);
  return issue;
}

Deno.test("an issue has its prefix, labels, harmless text, footer and marker", async () => {
  await using github = await rig();
  deepEqual(await github.send(KEYED), { result: "sent", externalId: "1" });
  const { title, body, labels } = only(github.fake.issues.issues);
  deepEqual([title, labels], ["[svc] Flaky", ["automated"]]);
  const [text, footer, marker = ""] = body.split("\n\n");
  equal(text, "Failed, @\u200bmona");
  equal(
    footer,
    "Made by svc: workflow triage, task 01JZZZZZZZZZZZZZZZZZ0000TA, asked for by octocat",
  );
  const place = {
    forge: "github",
    project: "default",
    repository: REPOSITORY,
    number: 0,
    isPull: false,
  } as const;
  equal(github.markers.find(marker, place)?.key, "triage/42/flaky");
});

Deno.test("a long text is cut so that all of it is as long as GitHub takes", async () => {
  await using github = await rig();
  const workflow = "w".repeat(200);
  const body = { ...BODY, workflow, text: "@ ".repeat(60_000) };
  equal((await github.send({ target: {}, body })).result, "sent");
  const issue = only(github.fake.issues.issues);
  ok(issue.body.length <= 65_536 && issue.body.length > 64_000, `${issue.body.length}`);
  deepEqual(await github.find({ target: {}, body }), { result: "found", externalId: "1" });
});

for (
  const [what, end] of [
    ["deleted", { gone: 410 }],
    ["moved to another repository", { gone: 301 }],
  ] as const
) {
  Deno.test(`the next one of a key is new once the issue is ${what}`, async () => {
    await using github = await rig();
    await github.send(KEYED);
    Object.assign(only(github.fake.issues.issues), end);
    const next = { ...KEYED, previousId: "1" };
    deepEqual(await github.send(next), { result: "sent", externalId: "2" });
  });
}

Deno.test("an issue without a key is found by the id of its message", async () => {
  await using github = await rig();
  const given = { target: {}, body: BODY };
  await github.send(given);
  deepEqual(await github.find(given), { result: "found", externalId: "1" });
});

Deno.test("a closed issue and a pull request are not found", async () => {
  await using github = await rig();
  await github.send(KEYED);
  const ours = only(github.fake.issues.issues);
  ours.state = "closed";
  deepEqual(await github.find(KEYED), { result: "absent" });
  github.fake.issues.issues.splice(0, 1, {
    ...ours,
    state: "open",
    pull: { sha: "", commits: [] },
  });
  deepEqual(await github.find(KEYED), { result: "absent" });
});

Deno.test("a label of a step may be written in another case", async () => {
  await using github = await rig();
  const known = { ...KEYED, body: { ...BODY, labels: ["new"], asked: ["BUG"] } };
  equal((await github.send(known)).result, "sent");
  deepEqual(only(github.fake.issues.issues).labels, ["new", "bug"]);
});

Deno.test("an answer without an issue may have arrived", async () => {
  for (const data of [null, [], { number: "7" }, { number: -1 }, { number: 1e300 }, "x"]) {
    await using github = await rig();
    github.fake.interfere = ({ method }) =>
      method === "POST" ? Response.json(data, { status: 201 }) : undefined;
    const { result, ...rest } = await github.send(KEYED);
    deepEqual([result, "mayHaveArrived" in rest && rest.mayHaveArrived], ["later", true]);
  }
});

Deno.test("a list of issues that GitHub makes up does no harm", async () => {
  const marked = (number: unknown) => ({ number, state: "open", user: { id: TOKEN.id }, body: 7 });
  for (const data of [{}, [null, 7, "x", [], {}], [marked("../1"), marked(0), marked(1.5)]]) {
    await using github = await rig();
    github.fake.interfere = ({ path }) =>
      path.includes("/issues?") ? Response.json(data) : undefined;
    deepEqual(await github.find(KEYED), { result: "absent" });
    equal((await github.send(KEYED)).result, "sent");
  }
});

Deno.test("a list without an end ends, and nothing is made", async () => {
  await using github = await rig();
  let page = 1;
  github.fake.interfere = ({ path }) => {
    if (!path.includes("/issues?")) return undefined;
    const next = `${github.fake.url}/repos/${REPOSITORY}/issues?state=open&page=${++page}`;
    return Response.json([], { headers: { link: `<${next}>; rel="next"` } });
  };
  equal((await github.send(KEYED)).result, "refused");
  deepEqual(github.written(), []);
});

Deno.test("a token without the right is told, and a lost answer may have arrived", async () => {
  await using github = await rig();
  github.fake.interfere = ({ method }) =>
    method === "POST"
      ? problem(403, "Resource not accessible", { "x-accepted-github-permissions": "issues=write" })
      : undefined;
  match(JSON.stringify(await github.send(KEYED)), /needs the permission issues=write/);
  github.fake.interfere = ({ method }) => method === "POST" ? problem(502, "gateway") : undefined;
  const lost = await github.send(KEYED);
  equal(lost.result === "later" && lost.mayHaveArrived, true);
});
