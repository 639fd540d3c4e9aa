/**
 * Which events are about a new comment of a person, at each forge, and which comments give an answer.
 * Payloads of Gitea and GitLab have the members that svc reads, named and nested as documented there.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { findAnswer } from "../../src/connections/answer_in_comment.ts";
import { findNewComment } from "../../src/connections/forges.ts";
import { skippable } from "../helpers/requirements.ts";

type Payload = Record<string, unknown>;

const mira = { login: "mira", id: 31, type: "User" };
const text = "/approve 7f3a91c2";
const repository = { full_name: "tide/site" };

function atGitHub(more: Payload = {}, comment: Payload = {}): Payload {
  return {
    action: "created",
    repository,
    issue: { number: 5, pull_request: {} },
    comment: { id: 9, user: mira, body: text, performed_via_github_app: null, ...comment },
    sender: mira,
    ...more,
  };
}

/** Gitea and Forgejo name no types of users, and no Apps. */
function atGitea(more: Payload = {}, comment: Payload = {}): Payload {
  const user = { id: 31, login: "mira", username: "mira" };
  return {
    action: "created",
    repository,
    is_pull: true,
    issue: { id: 77, number: 5, pull_request: { merged: false } },
    comment: { id: 9, user, body: text, ...comment },
    sender: user,
    ...more,
  };
}

function atGitLab(more: Payload = {}, note: Payload = {}): Payload {
  return {
    object_kind: "note",
    event_type: "note",
    user: { id: 31, username: "mira" },
    project: { id: 7, path_with_namespace: "tide/site" },
    merge_request: { iid: 5, target_project_id: 7 },
    object_attributes: { id: 9, note: text, author_id: 31, action: "create", ...note },
    ...more,
  };
}

const at = (isPull: boolean) => ({
  id: "9",
  text,
  repository: "tide/site",
  thread: { number: 5, isPull },
});
const TIMES = { created_at: "2026-11-24 10:00:00 UTC", updated_at: "2026-11-24 10:00:00 UTC" };
const bot = { login: "dependabot[bot]", id: 32, type: "Bot" };

const CASES: readonly (readonly [name: string, payload: Payload, expected: unknown])[] = [
  ["a comment on a pull request at GitHub", atGitHub(), { forge: "github", ...at(true) }],
  ["one on an issue at GitHub", atGitHub({ issue: { number: 5 } }), {
    forge: "github",
    ...at(false),
  }],
  ["one that was edited", atGitHub({ action: "edited" }), undefined],
  ["one that was deleted", atGitHub({ action: "deleted" }), undefined],
  ["one without an action", atGitHub({ action: undefined }), undefined],
  ["one of a bot", atGitHub({ sender: bot }, { user: bot }), undefined],
  ["one of an App for a person", atGitHub({}, { performed_via_github_app: { id: 1 } }), undefined],
  ["one whose author is not its sender", atGitHub({ sender: { ...mira, id: 32 } }), undefined],
  ["one whose author is a bot", atGitHub({}, { user: { ...mira, type: "Bot" } }), undefined],
  ["one whose author has a text as id", atGitHub({}, { user: { ...mira, id: "31" } }), undefined],
  ["one without a text", atGitHub({}, { body: null }), undefined],
  ["one without an id", atGitHub({}, { id: undefined }), undefined],
  ["one whose id is no number", atGitHub({}, { id: "9/../../10" }), undefined],
  [
    "one on lines of a change",
    atGitHub({ issue: undefined, pull_request: { number: 5 } }),
    undefined,
  ],
  ["one of a discussion", atGitHub({ issue: undefined, discussion: { number: 5 } }), undefined],
  ["a label", atGitHub({ comment: undefined, action: "labeled" }), undefined],
  ["a comment without a repository", atGitHub({ repository: undefined }), undefined],
  ["a comment at Gitea", atGitea(), { forge: "github", ...at(true) }],
  ["one that was edited at Gitea", atGitea({ action: "edited" }), undefined],
  ["a comment on a merge request", atGitLab(), { forge: "gitlab", ...at(true) }],
  ["one on an issue at GitLab", atGitLab({ merge_request: undefined, issue: { iid: 5 } }), {
    forge: "gitlab",
    ...at(false),
  }],
  ["one without an id at GitLab", atGitLab({}, { id: undefined }), undefined],
  ["one whose id is no number at GitLab", atGitLab({}, { id: "9/../../10" }), undefined],
  ["one that was edited at GitLab", atGitLab({}, { action: "update" }), undefined],
  ["one of an older GitLab", atGitLab({}, { action: undefined, ...TIMES }), {
    forge: "gitlab",
    ...at(true),
  }],
  [
    "one that was edited at an older GitLab",
    atGitLab({}, { action: undefined, ...TIMES, updated_at: "2026-11-24 11:00:00 UTC" }),
    undefined,
  ],
  ["one without action and times", atGitLab({}, { action: undefined }), undefined],
  ["one of GitLab itself", atGitLab({}, { system: true }), undefined],
  ["one that only members read", atGitLab({}, { internal: true }), undefined],
  ["one of another author", atGitLab({}, { author_id: 32 }), undefined],
  ["one without an author", atGitLab({}, { author_id: undefined }), undefined],
  ["one of a token", atGitLab({ user: { id: 31, username: "project_7_bot_1f" } }), undefined],
  ["one on a commit", atGitLab({ merge_request: undefined, commit: { id: "a" } }), undefined],
  ["one that two forges can read", { ...atGitLab(), ...atGitHub() }, undefined],
];

for (const [name, payload, expected] of CASES) {
  Deno.test(`the new comment of an event: ${name}`, () => {
    deepEqual(findNewComment(payload), expected);
  });
}

const answered = (answer: string, comment = "") => ({ answer, code: "7f3a91c2", comment });

const TEXTS: readonly (readonly [text: string, expected: unknown])[] = [
  ["/approve 7f3a91c2", answered("approved")],
  ["/reject 7f3a91c2", answered("rejected")],
  ["/reject 7f3a91c2 the branch is wrong", answered("rejected", "the branch is wrong")],
  ["/approve 7f3a91c2\r\n\r\nThanks", answered("approved")],
  ["/approve\t7f3a91c2  \n", answered("approved")],
  ["/Approve 7F3A91C2 yes", answered("approved", "yes")],
  [`/approve ${"a".repeat(64)}`, { answer: "approved", code: "a".repeat(64), comment: "" }],
  ["\u200b/approve 7f3a91c2", answered("approved")],
  ["approve 7f3a91c2", answered("approved")],
  ["reject 7f3a91c2 the branch is wrong", answered("rejected", "the branch is wrong")],
  ["approve", undefined],
  ["approve please", undefined],
  ["I approve 7f3a91c2", undefined],
  ["//approve 7f3a91c2", undefined],
  ["/approve", undefined],
  ["/approve please", undefined],
  ["/approve 7f3a91c", undefined],
  ["/approve 7f3a91c2.", undefined],
  [`/approve ${"a".repeat(65)}`, undefined],
  [" /approve 7f3a91c2", undefined],
  ["> /approve 7f3a91c2", undefined],
  ["Looks good\n/approve 7f3a91c2", undefined],
  ["\n/approve 7f3a91c2", undefined],
  ["/approved 7f3a91c2", undefined],
  ["/approve\n7f3a91c2", undefined],
  ["`/approve 7f3a91c2`", undefined],
  ["", undefined],
];

for (const [text, expected] of TEXTS) {
  Deno.test(`the answer in ${JSON.stringify(text.slice(0, 40))}`, () => {
    deepEqual(findAnswer(text), expected);
  });
}

const EXAMPLES = `${Deno.env.get("SVC_SHARED") ?? ""}/payloads/github`;
const examples = await Array.fromAsync(Deno.readDir(EXAMPLES)).catch(() => []);
const why = examples.length > 0 ? undefined : "$SVC_SHARED has no payloads/github";

Deno.test({
  ...skippable("of GitHub's own examples, new comments on issues alone are new comments", why),
  async fn() {
    const found: string[] = [];
    for (const { name: event } of examples) {
      for await (const { name } of Deno.readDir(`${EXAMPLES}/${event}`)) {
        const payload = JSON.parse(await Deno.readTextFile(`${EXAMPLES}/${event}/${name}`));
        if (findNewComment(payload) !== undefined) found.push(`${event}/${name}`);
      }
    }
    ok(found.length > 0);
    equal(found.filter((name) => !name.startsWith("issue_comment/created.")).join(), "");
  },
});
