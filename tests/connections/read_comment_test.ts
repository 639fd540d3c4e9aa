/**
 * A comment as each forge shows it: who wrote it, whether a person did, and whether it is as it was
 * written. Whatever an answer does not say counts against the comment.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { CallFailed, type Forge, type WrittenComment } from "../../src/connections/api/forge.ts";
import type { RestAnswer } from "../../src/connections/api/rest.ts";
import type { Connection } from "../../src/connections/find_connection.ts";
import { GITHUB } from "../../src/connections/github/forge.ts";
import { GITLAB } from "../../src/connections/gitlab/forge.ts";

type Data = Record<string, unknown>;

const TIMES = { created_at: "2026-11-24T10:00:00.123Z", updated_at: "2026-11-24T10:00:00.123Z" };
const LATER = "2026-11-24T10:00:00.124Z";

/** Reads comment 9 of pull 5 from a forge that answers by paths; a number is the status of a failure. */
async function read(
  forge: Forge,
  answers: Readonly<Record<string, unknown>>,
): Promise<WrittenComment | undefined> {
  const at = forge.open({
    connection: { spec: { github: {} } } as Connection,
    repository: "tide/site",
    clock: systemClock,
    call({ path }) {
      const data = answers[path] ?? 404;
      const answer = typeof data === "number"
        ? { ok: false, kind: data < 500 ? "refused" : "unavailable", status: data, message: "no" }
        : { ok: true, status: 200, data, text: "", headers: new Headers() };
      return Promise.resolve(answer as unknown as RestAnswer);
    },
  });
  return await at.readComment({ number: 5, isPull: true }, "9");
}

const NOTE = "/projects/tide%2Fsite/merge_requests/5/notes/9";
const USER = "/users/31";

function atGitLab(note: Data | number = {}, user: Data | number = {}) {
  const shown = {
    id: 9,
    body: "approve 7f3a91c2",
    author: { id: 31, username: "mira", name: "Mira", state: "active" },
    system: false,
    internal: false,
    confidential: false,
    ...TIMES,
  };
  return read(GITLAB, {
    [NOTE]: typeof note === "number" ? note : { ...shown, ...note },
    [USER]: typeof user === "number" ? user : { id: 31, username: "mira", bot: false, ...user },
  });
}

const COMMENT = "/repos/tide/site/issues/comments/9";

function atGitHub(comment: Data | number = {}) {
  const shown = {
    id: 9,
    body: "/approve 7f3a91c2",
    user: { id: 31, login: "mira", type: "User" },
    issue_url: "https://api.github.com/repos/tide/site/issues/5",
    performed_via_github_app: null,
    ...TIMES,
  };
  return read(GITHUB, {
    [COMMENT]: typeof comment === "number" ? comment : { ...shown, ...comment },
  });
}

/** Gitea names the thread for people, and no types of users. */
const GITEA = {
  user: { id: 31, login: "mira", username: "mira" },
  issue_url: "",
  pull_request_url: "https://git.example.com/tide/site/pulls/5",
  performed_via_github_app: undefined,
};

const GOOD = {
  userId: "31",
  login: "mira",
  isByProgram: false,
  isChanged: false,
  isInternal: false,
};
const note = { ...GOOD, text: "approve 7f3a91c2" };
const comment = { ...GOOD, text: "/approve 7f3a91c2" };

const CASES: readonly (readonly [string, () => Promise<WrittenComment | undefined>, unknown])[] = [
  ["a note", () => atGitLab(), note],
  ["none", () => atGitLab(404), undefined],
  ["another note", () => atGitLab({ id: 10 }), undefined],
  ["a note without an author", () => atGitLab({ author: null }), undefined],
  ["a note that was edited", () => atGitLab({ updated_at: LATER }), { ...note, isChanged: true }],
  ["a note without times", () => atGitLab({ created_at: undefined, updated_at: undefined }), {
    ...note,
    isChanged: true,
  }],
  ["a note of GitLab itself", () => atGitLab({ system: true }), { ...note, isByProgram: true }],
  ["a note that does not say so", () => atGitLab({ system: undefined }), {
    ...note,
    isByProgram: true,
  }],
  ["a note of members", () => atGitLab({ internal: true }), { ...note, isInternal: true }],
  [
    "one of members at an older GitLab",
    () => atGitLab({ internal: undefined, confidential: true }),
    {
      ...note,
      isInternal: true,
    },
  ],
  ["a note of a service", () => atGitLab({}, { bot: true }), { ...note, isByProgram: true }],
  ["a note of a user who may be one", () => atGitLab({}, { bot: undefined }), {
    ...note,
    isByProgram: true,
  }],
  ["a note of a user who is gone", () => atGitLab({}, 404), { ...note, isByProgram: true }],
  ["a note whose user is another", () => atGitLab({}, { id: 32 }), { ...note, isByProgram: true }],
  ["a note of a token", () => atGitLab({ author: { id: 31, username: "project_7_bot_1f" } }), {
    ...note,
    login: "project_7_bot_1f",
    isByProgram: true,
  }],
  ["a comment", () => atGitHub(), comment],
  ["no comment", () => atGitHub(404), undefined],
  ["one that was deleted", () => atGitHub(410), undefined],
  ["another comment", () => atGitHub({ id: 10 }), undefined],
  [
    "one of another thread",
    () => atGitHub({ issue_url: "https://x/repos/a/b/issues/55" }),
    undefined,
  ],
  ["one of no thread", () => atGitHub({ issue_url: undefined }), undefined],
  ["one of nobody", () => atGitHub({ user: null }), undefined],
  ["one that was edited", () => atGitHub({ updated_at: LATER }), { ...comment, isChanged: true }],
  ["one without times", () => atGitHub({ created_at: undefined, updated_at: undefined }), {
    ...comment,
    isChanged: true,
  }],
  ["one of a bot", () => atGitHub({ user: { id: 31, login: "mira", type: "Bot" } }), {
    ...comment,
    isByProgram: true,
  }],
  ["one of an App for a person", () => atGitHub({ performed_via_github_app: { id: 1 } }), {
    ...comment,
    isByProgram: true,
  }],
  ["one at Gitea", () => atGitHub(GITEA), comment],
  [
    "one on an issue at Gitea",
    () => atGitHub({ ...GITEA, issue_url: "https://git.example.com/tide/site/issues/5" }),
    comment,
  ],
  [
    "one of another thread at Gitea",
    () => atGitHub({ ...GITEA, pull_request_url: "https://git.example.com/tide/site/pulls/6" }),
    undefined,
  ],
];

for (const [what, found, expected] of CASES) {
  Deno.test(`a comment as its forge shows it: ${what}`, async () => {
    deepEqual(await found(), expected);
  });
}

Deno.test("a forge that does not answer has not said that there is no comment", async () => {
  const calls = [
    () => atGitLab(502),
    () => atGitLab({}, 502),
    () => atGitHub(502),
    () => atGitHub(403),
  ];
  for (const call of calls) await rejects(call(), CallFailed);
});
