/**
 * What the payloads of GitLab say: where answers go, who sent them, and which texts may have changed
 * since. Payloads have the members that svc reads, named and nested as GitLab documents them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { checkedTexts, findAsker, findSubject } from "../../../src/connections/gitlab/subject.ts";

const SHA = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const OTHER = "5".repeat(40);
const project = { id: 7, path_with_namespace: "tide/pool/site" };
const user = { id: 31, username: "mira" };
const event = (object_kind: string, more: Record<string, unknown> = {}) => ({
  object_kind,
  project,
  user,
  ...more,
});
const pull = { iid: 5, source_project_id: 7, target_project_id: 7, last_commit: { id: SHA } };
const note = (more: Record<string, unknown> = {}) => ({ id: 90, note: "Please look", ...more });

/** What a payload is about, apart from its project. */
function about(payload: unknown): unknown {
  const subject = findSubject(payload);
  if (subject === undefined) return undefined;
  const { forge, repository, ...rest } = subject;
  deepEqual([forge, repository], ["gitlab", project.path_with_namespace]);
  return rest;
}

const onPull = { number: 5, isPull: true, commits: [] };
const onIssue = { number: 5, isPull: false, commits: [] };
const none = { isPull: false, commits: [] };

const SUBJECTS: readonly (readonly [string, unknown, unknown])[] = [
  ["a merge request", event("merge_request", { object_attributes: pull }), {
    ...onPull,
    sha: SHA,
    reactTo: "merge_requests/5",
  }],
  ["an issue", event("issue", { object_attributes: { iid: 5, type: "Issue" } }), {
    ...onIssue,
    reactTo: "issues/5",
  }],
  ["a task", event("work_item", { object_attributes: { iid: 5, type: "Task" } }), {
    ...onIssue,
    reactTo: "issues/5",
  }],
  [
    "an epic, which a group has",
    event("work_item", {
      object_attributes: { iid: 5, type: "Epic" },
    }),
    none,
  ],
  [
    "a comment on an issue",
    event("note", {
      object_attributes: note({ noteable_type: "Issue" }),
      issue: { iid: 5 },
    }),
    { ...onIssue, reactTo: "issues/5/notes/90" },
  ],
  [
    "a comment on a merge request",
    event("note", {
      object_attributes: note({ commit_id: "" }),
      merge_request: pull,
    }),
    { ...onPull, sha: SHA, reactTo: "merge_requests/5/notes/90" },
  ],
  [
    "a comment on a commit",
    event("note", {
      object_attributes: note({ commit_id: SHA }),
      commit: { id: SHA },
    }),
    { ...none, sha: SHA },
  ],
  [
    "a comment on a snippet",
    event("note", {
      object_attributes: note({ commit_id: "" }),
      snippet: { id: 53 },
    }),
    { ...none, reactTo: "snippets/53/notes/90" },
  ],
  [
    "a comment on a confidential issue",
    event("note", {
      event_type: "confidential_note",
      object_attributes: note({ internal: false }),
      issue: { iid: 5, confidential: true },
    }),
    { ...onIssue, reactTo: "issues/5/notes/90" },
  ],
  [
    "that of an older server",
    event("note", {
      event_type: "confidential_note",
      object_attributes: note(),
      issue: { iid: 5, confidential: true },
    }),
    { ...onIssue, reactTo: "issues/5/notes/90" },
  ],
  [
    "an internal comment",
    event("note", {
      event_type: "confidential_note",
      object_attributes: note({ internal: true }),
      issue: { iid: 5, confidential: false },
    }),
    { ...none, reactTo: "issues/5/notes/90" },
  ],
  [
    "an internal comment on a merge request of an older server",
    event("note", {
      event_type: "confidential_note",
      object_attributes: note(),
      merge_request: pull,
    }),
    { ...none, reactTo: "merge_requests/5/notes/90" },
  ],
  [
    "a reaction to an internal comment",
    event("emoji", {
      event_type: "award",
      object_attributes: { id: 1, name: "thumbsup" },
      note: note({ internal: true }),
      issue: { iid: 5 },
    }),
    { ...none, reactTo: "issues/5/notes/90" },
  ],
  [
    "a reaction to a comment",
    event("emoji", {
      object_attributes: { id: 1, name: "thumbsup" },
      note: note({ internal: false }),
      merge_request: pull,
    }),
    { ...onPull, sha: SHA, reactTo: "merge_requests/5/notes/90" },
  ],
  [
    "a reaction to an issue",
    event("emoji", {
      object_attributes: { id: 1, name: "thumbsup" },
      issue: { iid: 5 },
    }),
    { ...onIssue, reactTo: "issues/5" },
  ],
  [
    "a pipeline of a branch",
    event("pipeline", {
      object_attributes: { id: 31, iid: 3, sha: SHA },
      merge_request: null,
    }),
    { ...none, sha: SHA },
  ],
  [
    "a pipeline of a merge request",
    event("pipeline", {
      object_attributes: { id: 31, iid: 3, sha: SHA },
      merge_request: { iid: 5, source_project_id: 7, target_project_id: 7 },
    }),
    { ...onPull, sha: SHA, reactTo: "merge_requests/5" },
  ],
  [
    "a pipeline of a fork, whose merge request is elsewhere",
    event("pipeline", {
      object_attributes: { id: 31, iid: 3, sha: SHA },
      merge_request: { iid: 5, source_project_id: 7, target_project_id: 8 },
    }),
    { ...none, sha: SHA },
  ],
  ["a job of a branch", event("build", { ref: "main", sha: SHA, commit: { id: 12 } }), {
    ...none,
    sha: SHA,
  }],
  [
    "a job of a merge request",
    event("build", {
      ref: "refs/merge-requests/5/head",
      tag: false,
      sha: SHA,
      commit: { id: 12 },
    }),
    { ...onPull, sha: SHA, reactTo: "merge_requests/5" },
  ],
  ["a push", {
    object_kind: "push",
    project,
    checkout_sha: SHA,
    after: SHA,
    user_id: 31,
    commits: [{ id: OTHER }, { id: SHA }, { id: "x" }, null],
  }, { ...none, sha: SHA, commits: [OTHER, SHA] }],
  ["a deleted branch", {
    object_kind: "push",
    project,
    checkout_sha: null,
    after: "0".repeat(40),
    commits: [],
  }, none],
  ["an annotated tag, whose commit is meant", {
    object_kind: "tag_push",
    project,
    checkout_sha: SHA,
    after: OTHER,
    commits: [],
  }, { ...none, sha: SHA }],
  ["a release", event("release", { id: 1, tag: "v1", commit: { id: SHA } }), {
    ...none,
    sha: SHA,
  }],
  [
    "a milestone, which has a number of its own",
    event("milestone", {
      object_attributes: { iid: 10 },
    }),
    none,
  ],
  [
    "odd members",
    event("note", {
      object_attributes: note({ id: "90/../1", commit_id: "../x" }),
      merge_request: { iid: "5", last_commit: { id: "HEAD" } },
      issue: { iid: -5 },
      commits: "no list",
    }),
    none,
  ],
];

for (const [name, payload, expected] of SUBJECTS) {
  Deno.test(`the subject of ${name} at GitLab`, () => deepEqual(about(payload), expected));
}

Deno.test("a payload that names no project of GitLab has no subject", () => {
  for (
    const path_with_namespace of ["site", "a/../b", "a/b?x", "a//b", "../a", "a/b\n", "", 5, null]
  ) {
    equal(findSubject({ object_kind: "push", project: { path_with_namespace } }), undefined);
  }
  for (const payload of [null, [], { project }, { object_kind: 5, project }]) {
    equal(findSubject(payload), undefined);
  }
});

const ASKERS: readonly (readonly [string, unknown, unknown])[] = [
  ["an event with a user", event("note"), { login: "mira", id: "31", isBot: false }],
  ["a push", { object_kind: "push", user_id: 31, user_username: "mira" }, {
    login: "mira",
    id: "31",
    isBot: false,
  }],
  ["a job of an older server", event("build", { user: { id: 31, name: "Mira" } }), {
    login: "",
    id: "31",
    isBot: false,
  }],
  ["a login that would end a sentence", event("note", { user: { id: 31, username: "a b](x)" } }), {
    login: "",
    id: "31",
    isBot: false,
  }],
  ["a login that would be a link", event("note", { user: { id: 31, username: "www.a.example" } }), {
    login: "",
    id: "31",
    isBot: false,
  }],
  ["no id", event("note", { user: { username: "mira" } }), undefined],
  ["a text as id", event("note", { user: { id: "31", username: "mira" } }), undefined],
  ...["project_7_bot", "project_7_bot_0a1b2c", "group_12_bot3", "service_account_group_5_0a1b"]
    .map((username) =>
      [username, event("note", { user: { id: 31, username } }), {
        login: username,
        id: "31",
        isBot: true,
      }] as const
    ),
  ["a person with a similar name", event("note", { user: { id: 31, username: "project_bot" } }), {
    login: "project_bot",
    id: "31",
    isBot: false,
  }],
];

for (const [name, payload, expected] of ASKERS) {
  Deno.test(`who sent ${name} at GitLab`, () => deepEqual(findAsker(payload), expected));
}

/** Path, field and value of what has to be as it was. */
function texts(payload: ReturnType<typeof event>): unknown {
  return checkedTexts(payload).map(({ path, field, was }) => [path, field.join("."), was]);
}

Deno.test("the comment of an event, and the commit of its merge request, are read again", () => {
  const head = ["/merge_requests/5", "sha", SHA];
  const at = (path: string) => [path, "body", "Please look"];
  deepEqual(texts(event("merge_request", { object_attributes: pull })), [head]);
  deepEqual(texts(event("note", { object_attributes: note(), issue: { iid: 5 } })), [
    at("/issues/5/notes/90"),
  ]);
  deepEqual(texts(event("note", { object_attributes: note(), merge_request: pull })), [
    at("/merge_requests/5/notes/90"),
    head,
  ]);
  deepEqual(texts(event("note", { object_attributes: note(), snippet: { id: 53 } })), [
    at("/snippets/53/notes/90"),
  ]);
  deepEqual(texts(event("emoji", { note: note(), issue: { iid: 5 } })), [at("/issues/5/notes/90")]);
  const onCommit = note({ commit_id: SHA, discussion_id: "0a1b" });
  deepEqual(texts(event("note", { object_attributes: onCommit })), [
    at(`/repository/commits/${SHA}/discussions/0a1b/notes/90`),
  ]);
  deepEqual(texts(event("issue", { object_attributes: { iid: 5 } })), []);
});

Deno.test("a comment whose ids make no path is looked for where there is none", () => {
  const odd = note({ id: "90/../1", commit_id: SHA, discussion_id: "../.." });
  deepEqual(texts(event("note", { object_attributes: odd })), [
    [`/repository/commits/${SHA}/discussions/0/notes/0`, "body", "Please look"],
  ]);
});
