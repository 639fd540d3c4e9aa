/**
 * At which forges a comment is looked at as an answer to a question.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
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
  const reader = commentReader({} as never);
  const event = { payload, coverage: { payload: "all" } };
  return reader.keysOf({ delivery: { via: "http", detail }, event } as never).length;
}

for (const [forge, payload] of [["GitHub", AT_GITHUB], ["GitLab", AT_GITLAB]] as const) {
  Deno.test(`a comment at ${forge} is looked at, and one that is not signed is not`, () => {
    equal(keys(payload), 1);
    equal(keys(payload, { unsigned: true }), 0);
  });
}

Deno.test("who may write at any forge may be asked", () => {
  deepEqual(BY_WRITERS, ["github:write", "gitlab:write"]);
});
