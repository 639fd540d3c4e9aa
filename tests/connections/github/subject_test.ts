/**
 * What events of GitHub are about: real payloads, and what somebody could put in their place.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { findSubject } from "../../../src/connections/github/subject.ts";

const fixture = (name: string): Record<string, unknown> =>
  JSON.parse(
    Deno.readTextFileSync(new URL(`../../fixtures/github/${name}.json`, import.meta.url)),
  );

const SHA = "0123456789abcdef0123456789abcdef01234567";
const repository = { full_name: "o/r" };

Deno.test("each kind of event says where its answers go", () => {
  const comment = fixture("issue_comment");
  const { issue, comment: said } = comment as Record<string, { number: number; id: number }>;
  const ofComment = findSubject(comment);
  deepEqual([ofComment?.number, ofComment?.reactTo, ofComment?.sha], [
    issue?.number,
    `issues/comments/${said?.id}`,
    undefined,
  ]);
  const pull = fixture("pull_request");
  const ofPull = findSubject(pull);
  const { number, head } = pull["pull_request"] as { number: number; head: { sha: string } };
  deepEqual([ofPull?.number, ofPull?.isPull, ofPull?.sha, ofPull?.reactTo], [
    number,
    true,
    head.sha,
    `issues/${number}`,
  ]);
  const push = fixture("push");
  const ofPush = findSubject(push);
  deepEqual([ofPush?.number, ofPush?.sha, ofPush?.reactTo], [undefined, push["after"], undefined]);
  const release = fixture("release");
  const { id } = release["release"] as { id: number };
  equal(findSubject(release)?.reactTo, `releases/${id}`);
});

Deno.test("a check is about the one pull request of its commit, in its own repository", () => {
  const { number, isPull, sha } = findSubject(fixture("check_suite")) ?? {};
  deepEqual([number, isPull, sha], [43, true, "4f0c61d2b97a9be7a2d05c41f386e31f6c8a47d2"]);
  const own = { number: 3, base: { repo: { id: 9 } } };
  const upstream = { number: 4, base: { repo: { id: 10 } } };
  const cases: readonly [readonly unknown[], number | undefined][] = [
    [[own], 3],
    [[upstream, own], 3],
    [[own, { ...own, number: 5 }], undefined],
    [[upstream], undefined],
    [[{ number: 3 }], undefined],
    [[], undefined],
  ];
  for (const name of ["check_run", "check_suite", "workflow_run"]) {
    for (const [pull_requests, expected] of cases) {
      const payload = { repository: { ...repository, id: 9 }, [name]: { pull_requests } };
      equal(findSubject(payload)?.number, expected, `${name} ${JSON.stringify(pull_requests)}`);
    }
    equal(findSubject({ repository, [name]: { pull_requests: [own] } })?.number, undefined);
  }
});

Deno.test("comments on lines and on commits are reacted to where they stand", () => {
  const pull_request = { number: 3, head: { sha: SHA } };
  const comment = { id: 9, commit_id: SHA };
  equal(findSubject({ repository, pull_request, comment })?.reactTo, "pulls/comments/9");
  deepEqual(findSubject({ repository, comment }), {
    forge: "github",
    repository: "o/r",
    isPull: false,
    sha: SHA,
    commits: [],
    reactTo: "comments/9",
  });
});

Deno.test("a value that is not a repository, number or commit names no subject", () => {
  for (
    const full_name of [
      "o",
      "o/r/x",
      "o/../r",
      "o/r?x",
      "o/r\n",
      "o/..",
      "../o",
      "o/.",
      "",
      5,
      undefined,
    ]
  ) {
    equal(findSubject({ repository: { full_name } }), undefined, String(full_name));
  }
  for (const payload of [null, 5, [], {}, { repository: null }]) {
    equal(findSubject(payload), undefined);
  }
  const odd = {
    repository,
    issue: { number: "7/../8" },
    comment: { id: -1 },
    after: "0".repeat(40),
    commits: [{ id: "x" }, null],
  };
  deepEqual(findSubject(odd), { forge: "github", repository: "o/r", isPull: false, commits: [] });
});
