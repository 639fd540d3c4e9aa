/**
 * Answers of other shapes than GitLab's documentation says, to every method: each is a refusal or
 * nothing, never a fault of svc, and never a right, a person or a merge request that is not there.
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { AppError } from "../../../src/base/errors.ts";
import { CallFailed, type ForgeRepository } from "../../../src/connections/api/forge.ts";
import type { Connection } from "../../../src/connections/find_connection.ts";
import { GITLAB } from "../../../src/connections/gitlab/forge.ts";

const SHA = "5".repeat(40);
const TEXTS = { id: "7", iid: "7", username: 7, access_level: "50", state: "active" };
const ODD = {
  ...TEXTS,
  source_project_id: "1",
  target_project_id: "1",
  author: [],
  sha: 5,
  commit: "x",
  commits: {},
  name: null,
  reviewers: { 0: { id: 1 } },
  labels: "all",
};
const SHAPES: readonly unknown[] = [
  null,
  7,
  "text",
  [],
  {},
  [null],
  [[]],
  [7, "x", {}],
  { commits: [null, 7, {}] },
  TEXTS,
  ODD,
  [ODD],
];

function project(data: unknown): ForgeRepository {
  return GITLAB.open({
    connection: { spec: {} } as Connection,
    repository: "a/b",
    clock: systemClock,
    call: () => Promise.resolve({ ok: true, status: 200, data, text: "", headers: new Headers() }),
  });
}

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  return await Array.fromAsync(items);
}

const THREAD = { number: 5, isPull: true };
const PULL = { title: "t", body: "b", branch: "topic", base: "main", draft: true };

/** Every method that reads an answer, with what it must not make of one. */
const METHODS: Readonly<Record<string, (at: ForgeRepository) => Promise<unknown>>> = {
  readOwnUser: async (at) => equal(await at.readOwnUser(), undefined),
  readFacts: async (at) => equal((await at.readFacts()).defaultBranch, ""),
  permissionOf: async (at) =>
    equal((await at.permissionOf({ id: "7", login: "ada" })).mayWrite, false),
  readText: async (at) =>
    equal(
      await at.readText({ what: "It", path: "/x", field: ["sha", "x"], was: "" }),
      undefined,
    ),
  commentsOf: async (at) => equal((await all(at.commentsOf(THREAD, 0))).length, 0),
  addComment: async (at) => equal(await at.addComment(THREAD, "x"), ""),
  editComment: (at) => at.editComment(THREAD, "1", "x"),
  react: (at) => at.react("issues/1", "eyes"),
  hasLabel: async (at) => equal(await at.hasLabel("bug"), false),
  addIssue: async (at) =>
    equal(await at.addIssue({ title: "t", body: "b", labels: [] }), undefined),
  isIssueOpen: async (at) => equal(await at.isIssueOpen(1), false),
  ownIssues: async (at) => equal((await all(at.ownIssues())).length, 0),
  setStatus: (at) => at.setStatus({ sha: SHA, state: "pending", context: "c", description: "" }),
  readPull: async (at) => equal(await at.readPull(5), undefined),
  headOfPull: async (at) => equal(await at.headOfPull(5), undefined),
  isCommitOfPull: async (at) => equal(await at.isCommitOfPull(SHA, 5), false),
  pullsFrom: async (at) => equal((await at.pullsFrom("topic")).length, 0),
  openPulls: async (at) => equal((await all(at.openPulls("main"))).flat().length, 0),
  openPull: async (at) => ok((await at.openPull(PULL)).result !== "opened"),
  askReviewers: (at) => at.askReviewers(5, ["ada"]),
  headOf: async (at) => equal(await at.headOf("topic"), undefined),
  compare: async (at) => {
    const { commits } = await at.compare(SHA, "main");
    for (const one of commits) equal(await one.tree(), "");
  },
};

for (const [name, use] of Object.entries(METHODS)) {
  Deno.test(`${name} of GitLab takes answers of other shapes for nothing`, async (t) => {
    for (const shape of SHAPES) {
      await t.step(JSON.stringify(shape).slice(0, 40), async () => {
        try {
          await use(project(shape));
        } catch (error) {
          if (!(error instanceof AppError || error instanceof CallFailed)) throw error;
        }
      });
    }
  });
}
