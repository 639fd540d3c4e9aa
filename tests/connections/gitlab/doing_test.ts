/**
 * What the events of GitLab show somebody doing, by which svc knows its own events.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import { findDoing } from "../../../src/connections/gitlab/doing.ts";

const SHA = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const OTHER = "5".repeat(40);
const own = {
  source_project_id: 7,
  target_project_id: 7,
  source_branch: "svc/x",
  description: "M",
};

/** An event with attributes. */
function event(object_kind: string, object_attributes: JsonObject, more: JsonObject = {}) {
  return { object_kind, object_attributes, ...more };
}

const pull = { what: "pull", body: "M", branch: "svc/x" };
const push = { object_kind: "push", checkout_sha: SHA };

const CASES: readonly (readonly [string, JsonObject, unknown])[] = [
  ["a comment", event("note", { note: "M" }), { what: "comment", body: "M" }],
  ["a reaction", event("emoji", { name: "eyes" }), { what: "reaction" }],
  ["a new issue", event("issue", { action: "open", description: "M" }), {
    what: "issue",
    body: "M",
  }],
  ["a changed issue", event("issue", { action: "update", description: "M" }), {
    what: "issue",
    body: "M",
  }],
  ["a closed issue", event("issue", { action: "close", description: "M" }), undefined],
  ["a new merge request", event("merge_request", { action: "open", ...own }), pull],
  ["one with another title", event("merge_request", { action: "update", ...own }), pull],
  [
    "one with more commits",
    event("merge_request", {
      action: "update",
      oldrev: OTHER,
      last_commit: { id: SHA, message: "C" },
      ...own,
    }),
    { ...pull, pushed: "C" },
  ],
  ["one from a fork", event("merge_request", { action: "open", ...own, source_project_id: 8 })],
  ["one without projects", event("merge_request", { action: "open", description: "M" })],
  ["a merge", event("merge_request", { action: "merge", ...own })],
  ["an approval", event("merge_request", { action: "approved", ...own, source_project_id: 8 }), {
    what: "approval",
  }],
  ["one approval of several", event("merge_request", { action: "approval" }), {
    what: "approval",
  }],
  ["a push", {
    ...push,
    commits: [{ id: OTHER, message: "A" }, { id: SHA, message: "C" }],
  }, { what: "commit", message: "C" }],
  ["a push that does not show its newest commit", { ...push, commits: [{ id: OTHER }] }],
  ["a branch without commits of its own", { ...push, commits: [] }],
  ["a deleted branch", { object_kind: "push", checkout_sha: null, commits: [] }],
  ["the pipeline of a status", event("pipeline", { source: "external" }), { what: "status" }],
  ["another pipeline", event("pipeline", { source: "push" })],
  ["a tag", { object_kind: "tag_push", checkout_sha: SHA, commits: [{ id: SHA, message: "C" }] }],
].map(([name, payload, expected]) => [name, payload, expected] as never);

for (const [name, payload, expected] of CASES) {
  Deno.test(`${name} at GitLab, as svc may have done it`, () => {
    deepEqual(findDoing(payload), expected);
  });
}
