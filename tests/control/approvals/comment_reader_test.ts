/**
 * At which forges a comment is looked at as an answer to a question.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { commentReader } from "../../../src/control/approvals/answer_by_comment.ts";
import { BY_WRITERS } from "../../../src/resources/approval.ts";

const TEXT = "/approve 7f3a91c2";
const USER = { id: 31, login: "mira", type: "User" };

const AT_GITHUB = {
  action: "created",
  repository: { full_name: "tide/site" },
  issue: { number: 5 },
  comment: { id: 9, user: USER, body: TEXT, performed_via_github_app: null },
  sender: USER,
};

const AT_GITLAB = {
  object_kind: "note",
  event_type: "note",
  user: { id: 31, username: "mira" },
  project: { id: 7, path_with_namespace: "tide/site" },
  merge_request: { iid: 5, target_project_id: 7 },
  object_attributes: {
    id: 9,
    note: TEXT,
    author_id: 31,
    action: "create",
    created_at: "2026-11-24 10:00:00 UTC",
    updated_at: "2026-11-24 10:00:00 UTC",
  },
};

/** Number of keys by which a signed comment would be found. */
function keys(payload: unknown, detail = {}): number {
  const reader = commentReader({ ownUsers: { isOwn: () => false } } as never);
  const event = { payload, coverage: { payload: "all" } };
  return reader.keysOf({ delivery: { via: "http", detail }, event } as never).length;
}

Deno.test("a comment at GitHub may answer, and one that is not signed may not", () => {
  equal(keys(AT_GITHUB), 1);
  equal(keys(AT_GITHUB, { unsigned: true }), 0);
});

Deno.test("a note at GitLab answers nothing: maintainers of its project choose what it says", () => {
  equal(keys(AT_GITLAB), 0);
  equal(BY_WRITERS.includes("gitlab:write"), false);
});
