/**
 * Labels: only those that the repository has, and nothing else that a name could reach.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
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

Deno.test("a label that the repository lacks is not made", async () => {
  await using github = await rig([]);
  const refused = await github.change("urgent", true);
  equal(refused.result, "refused");
  match(JSON.stringify(refused), /has no label \\"urgent\\"/);
  deepEqual(github.written(), []);
});

Deno.test("a label of an issue that is gone is refused", async () => {
  await using github = await rig([]);
  const gone = await github.send({ target: { number: 8, label: "bug" }, body: { set: false } });
  equal(gone.result, "refused");
});
