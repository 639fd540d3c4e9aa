/** The rights of an App for each kind of message. */

import { deepStrictEqual as deepEqual, ok, throws } from "node:assert/strict";
import { rightsOfMessage } from "../../src/outbox/github_rights.ts";
import { MESSAGE_KINDS } from "../../src/outbox/messages.ts";

const needs = (kind: string, target = {}, body = {}) =>
  rightsOfMessage({ kind, target, body }).needs;

Deno.test("every kind of message to GitHub has its rights, and no other", () => {
  const kinds = MESSAGE_KINDS.map(({ name }) => name);
  for (const kind of kinds.filter((name) => name.startsWith("github-"))) {
    ok(Object.keys(needs(kind, { to: "issues/1" })).length > 0, kind);
  }
  for (const kind of ["slack-post", "email", "toString", ""]) {
    throws(() => needs(kind), /svc knows no rights/);
  }
});

Deno.test("a reaction needs the right of what it is to", () => {
  const cases = {
    "issues/7": { issues: "write" },
    "issues/comments/7": { issues: "write" },
    "pulls/comments/7": { pull_requests: "write" },
    "comments/7": { contents: "write" },
    "releases/7": { contents: "write" },
  };
  for (const [to, expected] of Object.entries(cases)) {
    deepEqual(needs("github-reaction", { to }), expected);
  }
});

Deno.test("only a change that touches workflows has the right to", () => {
  const contents = { contents: "write", pull_requests: "write" };
  deepEqual(needs("github-pull"), contents);
  deepEqual(needs("github-pull", {}, { workflows: true }), { ...contents, workflows: "write" });
});

Deno.test("to read checks takes no right to write", () => {
  deepEqual(rightsOfMessage({ kind: "github-checks", target: {}, body: {} }), {
    needs: { checks: "read", statuses: "read" },
    likes: { actions: "read" },
  });
  deepEqual(needs("gitlab-checks"), {});
});
