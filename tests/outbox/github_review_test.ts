/**
 * Reviews that tasks give: one of each key and commit, comments on lines of the diff, and the others in
 * the text.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { problem, TOKEN } from "../fakes/github.ts";
import type { FakeFile } from "../fakes/github_issues.ts";
import { githubReviewKinds } from "../../src/outbox/github_review.ts";
import { githubSending, REPOSITORY } from "../rigs/github_sending.ts";

const HEAD = "a".repeat(40);
const EARLIER = "b".repeat(40);
const PATCH = `@@ -1,3 +1,4 @@ top
 one
-two
+two!
+more
 three
@@ -10 +11 @@
-ten
+ten!
\\ No newline at end of file`;
const FILES: readonly FakeFile[] = [
  { filename: "picture.png" },
  { filename: "src/a.ts", patch: PATCH },
];

async function rig(files = FILES) {
  const github = await githubSending(githubReviewKinds);
  const user = { login: "mona", id: 7 };
  const pull = { sha: HEAD, commits: [EARLIER, HEAD], files: [...files] };
  github.fake.issues.issues.push({
    repository: REPOSITORY,
    number: 7,
    title: "t",
    body: "",
    user,
    pull,
  });
  return { ...github, pull, [Symbol.asyncDispose]: () => github[Symbol.asyncDispose]() };
}

const review = (given: Record<string, unknown> = {}, previousId = "") => ({
  target: { number: 7 },
  key: "review",
  previousId,
  body: { workflow: "review", asker: "", text: "Fine", event: "comment", comments: [], ...given },
});
const comment = (line: number, more: Record<string, unknown> = {}) => ({
  path: "src/a.ts",
  line,
  side: "RIGHT",
  text: `about ${line}`,
  ...more,
});

/** The text above the footer. */
const textOf = (body = "") => body.split("\n\nMade by svc: ")[0];

Deno.test("a review has its comments on the lines of the diff", async () => {
  await using github = await rig();
  const comments = [
    comment(3, { startLine: 2, text: "cc @mona" }),
    comment(2, { side: "LEFT" }),
    comment(11),
  ];
  const sent = await github.send(review({ comments, event: "request_changes" }));
  const [made] = github.fake.reviews.reviews;
  deepEqual(sent, { result: "sent", externalId: `${made?.id} ${HEAD} request_changes` });
  deepEqual([made?.state, made?.commit_id, textOf(made?.body)], [
    "CHANGES_REQUESTED",
    HEAD,
    "Fine",
  ]);
  const lines = made?.comments.map(({ body, ...where }) => [body.split("\n\n")[0], where]);
  deepEqual(lines, [
    ["cc @\u200bmona", {
      path: "src/a.ts",
      line: 3,
      side: "RIGHT",
      start_line: 2,
      start_side: "RIGHT",
    }],
    ["about 2", { path: "src/a.ts", line: 2, side: "LEFT" }],
    ["about 11", { path: "src/a.ts", line: 11, side: "RIGHT" }],
  ]);
  const place = {
    forge: "github",
    project: "default",
    repository: REPOSITORY,
    number: 7,
    isPull: false,
  } as const;
  for (const { body } of [...made?.comments ?? [], ...made === undefined ? [] : [made]]) {
    equal(github.markers.find(body, place)?.key, "review");
  }
});

Deno.test("comments on lines that the diff does not show are in the text", async () => {
  await using github = await rig();
  const comments = [
    comment(2),
    comment(5),
    comment(10, { side: "LEFT", startLine: 2, text: "over two parts" }),
    comment(1, { path: "picture.png", text: "too dark" }),
    comment(1, { path: "not`there", text: "what of this?" }),
  ];
  await github.send(review({ comments }));
  const [made] = github.fake.reviews.reviews;
  deepEqual(made?.comments.map(({ line }) => line), [2]);
  equal(
    textOf(made?.body),
    [
      "Fine",
      "**Elsewhere**",
      "`src/a.ts:5`: about 5",
      "`src/a.ts:2-10`: over two parts",
      "`picture.png:1`: too dark",
      "`not'there:1`: what of this?",
    ].join("\n\n"),
  );
});

Deno.test("of the same commit and key the text is renewed, and comments are not repeated", async () => {
  await using github = await rig();
  const first = await github.send(review({ comments: [comment(2)] }));
  const id = first.result === "sent" ? first.externalId : "";
  const next = review({ text: "Still fine", comments: [comment(2), comment(3)] }, id);
  deepEqual(await github.send(next), first);
  const [made, ...more] = github.fake.reviews.reviews;
  deepEqual([more.length, made?.comments.length], [0, 1]);
  equal(textOf(made?.body), "Still fine\n\n**Elsewhere**\n\n`src/a.ts:3`: about 3");
});

Deno.test("another commit, another event: another review", async () => {
  await using github = await rig();
  const first = await github.send(review());
  const id = first.result === "sent" ? first.externalId : "";
  await github.send(review({ event: "request_changes" }, id));
  github.pull.sha = EARLIER;
  await github.send(review({}, id));
  deepEqual(github.fake.reviews.reviews.map(({ state, commit_id }) => [state, commit_id]), [
    ["COMMENTED", HEAD],
    ["CHANGES_REQUESTED", HEAD],
    ["COMMENTED", EARLIER],
  ]);
});

Deno.test("a review of the commit of its event stays there when the pull request moves on", async () => {
  await using github = await rig();
  await github.send(review({ sha: EARLIER, comments: [comment(2)] }));
  const [made] = github.fake.reviews.reviews;
  deepEqual([made?.commit_id, made?.comments], [EARLIER, []]);
  match(made?.body ?? "", /Elsewhere/, "whose lines nobody knows");
});

Deno.test("a review that may have arrived is found with its commit and event", async () => {
  await using github = await rig();
  deepEqual(await github.find(review()), { result: "absent" });
  await github.send(review({ event: "request_changes" }));
  const [made] = github.fake.reviews.reviews;
  const externalId = `${made?.id} ${HEAD} request_changes`;
  deepEqual(await github.find(review()), { result: "found", externalId });
  deepEqual(await github.find({ ...review(), key: "other" }), { result: "absent" });
  if (made !== undefined) made.state = "DISMISSED";
  deepEqual(await github.find(review()), { result: "absent" });
});

Deno.test("a review of somebody else with our marker is not found", async () => {
  await using github = await rig();
  await github.send(review());
  const [made] = github.fake.reviews.reviews;
  ok(made !== undefined);
  const user = { login: "mallory", id: 666 };
  github.fake.reviews.reviews.splice(0, 1, { ...made, user });
  deepEqual(await github.find(review()), { result: "absent" });
});

Deno.test("where GitHub refuses a line after all, the review comes without lines", async () => {
  await using github = await rig();
  let posts = 0;
  github.fake.interfere = ({ method }) =>
    method === "POST" && ++posts === 1 ? problem(422, "Line could not be resolved") : undefined;
  equal((await github.send(review({ comments: [comment(2)] }))).result, "sent");
  const [made] = github.fake.reviews.reviews;
  deepEqual(made?.comments, []);
  match(textOf(made?.body) ?? "", /`src\/a.ts:2`: about 2$/);
});

Deno.test("a refusal that is not about lines is told", async () => {
  await using github = await rig();
  const [pull] = github.fake.issues.issues;
  ok(pull !== undefined);
  github.fake.issues.issues.splice(0, 1, { ...pull, user: TOKEN });
  const refused = await github.send(review({ event: "approve", comments: [comment(2)] }));
  match(JSON.stringify(refused), /"refused".*Can not approve your own pull request/);
});

Deno.test("files without an end cost the lines, not the review", async () => {
  await using github = await rig();
  let page = 1;
  github.fake.interfere = ({ path }) => {
    if (!path.includes("/files")) return undefined;
    const next = `${github.fake.url}/repos/${REPOSITORY}/pulls/7/files?page=${++page}`;
    return Response.json([], { headers: { link: `<${next}>; rel="next"` } });
  };
  equal((await github.send(review({ comments: [comment(2)] }))).result, "sent");
  match(github.fake.reviews.reviews[0]?.body ?? "", /Elsewhere/);
});

Deno.test("answers that GitHub makes up do no harm", async () => {
  for (const data of [null, {}, [null, 7, { filename: 7, patch: {} }, { filename: "src/a.ts" }]]) {
    await using github = await rig();
    github.fake.interfere = ({ method, path }) =>
      method === "GET" && /files|reviews/.test(path) ? Response.json(data) : undefined;
    deepEqual(await github.find(review()), { result: "absent" });
    equal((await github.send(review({ comments: [comment(2)] }))).result, "sent");
  }
  for (const data of [null, {}, { head: { sha: "../../x" } }]) {
    await using github = await rig();
    github.fake.interfere = ({ path }) =>
      path.endsWith("/pulls/7") ? Response.json(data) : undefined;
    equal((await github.send(review())).result, "refused");
  }
  await using github = await rig();
  github.fake.interfere = ({ method }) =>
    method === "POST" ? Response.json({ id: "7" }) : undefined;
  const unknown = await github.send(review());
  equal(unknown.result === "later" && unknown.mayHaveArrived, true);
});
