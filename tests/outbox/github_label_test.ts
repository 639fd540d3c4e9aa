/**
 * Labels with names that a path has to encode, and in the case that GitHub gives them;
 * thread_kinds_test.ts has the rules of all forges.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { labelKinds } from "../../src/outbox/label.ts";
import { githubSending, REPOSITORY } from "../rigs/github_sending.ts";

async function rig(labels: string[]) {
  const github = await githubSending(labelKinds);
  const user = { login: "mona", id: 7 };
  const issue = { repository: REPOSITORY, number: 7, title: "t", body: "", user, labels };
  github.fake.issues.issues.push(issue);
  return {
    ...github,
    labels: () => issue.labels,
    change: (label: string, set: boolean) =>
      github.send({ target: { number: 7, label }, key: "label", body: { set } }),
    [Symbol.asyncDispose]: () => github[Symbol.asyncDispose](),
  };
}

const SENT = { result: "sent", externalId: "" };

Deno.test("labels come and go, also a second time", async () => {
  await using github = await rig(["bug"]);
  for (const label of ["area/docs", "good first issue", "50%"]) {
    for (let time = 0; time < 2; time++) deepEqual(await github.change(label, true), SENT);
  }
  deepEqual(github.labels(), ["bug", "area/docs", "Good first issue", "50%"]);
  for (const label of ["Bug", "area/docs", "50%"]) {
    for (let time = 0; time < 2; time++) deepEqual(await github.change(label, false), SENT);
  }
  deepEqual(github.labels(), ["Good first issue"]);
});
