/**
 * Pushes to projects of GitLab by git's protocol: what its tokens may, and what its events say.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { GITLAB } from "../../src/connections/gitlab/forge.ts";
import { type GitRemote, NO_COMMIT, type RefUpdate } from "../../src/git/change.ts";
import { pushRef } from "../../src/git/smart_http.ts";
import {
  ADA,
  BOT,
  type FakeGitLab,
  fakeGitLab,
  GITLAB_PROJECT,
  GITLAB_TOKEN,
  type GitLabEvent,
  type GitLabToken,
} from "../fakes/gitlab.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { PackBuilder } from "../rigs/pack_builder.ts";

const NO_GIT = missing("git");
const BRANCH = "svc/fix-42";

function remoteOf({ url }: FakeGitLab, token: string, repository = GITLAB_PROJECT): GitRemote {
  const { signal } = new AbortController();
  return { ...GITLAB.gitRemote(url, repository, token), signal };
}

/** The push of a commit on top of the default branch. */
async function pushOf({ git }: FakeGitLab, message = "A change"): Promise<RefUpdate> {
  const parent = await git.find(GITLAB_PROJECT, "main") ?? "";
  const builder = new PackBuilder();
  const tree = builder.files({ "README.md": "# Tidepool\n\nSampled.\n" });
  const id = builder.commit(tree, { parents: [parent], message });
  const pack = builder.pack();
  return { ref: `refs/heads/${BRANCH}`, old: NO_COMMIT, new: id, pack: piecesOf(pack) };
}

async function* piecesOf(pack: Uint8Array<ArrayBuffer>) {
  yield await Promise.resolve(pack);
}

Deno.test(
  skippable("a commit gets into a project of nested groups, and its event tells so", NO_GIT),
  async () => {
    await using fake = await fakeGitLab();
    const events: GitLabEvent[] = [];
    fake.state.listeners.push((event) => events.push(event));
    const update = await pushOf(fake, "A change\n\nSvc-Task: 01KB");
    deepEqual(await pushRef(remoteOf(fake, GITLAB_TOKEN.token), update, systemClock), {
      result: "done",
    });
    equal(await fake.git.find(GITLAB_PROJECT, BRANCH), update.new);
    equal(events.length, 1);
    const { event, payload = {} } = events[0] ?? {};
    deepEqual([event, payload["user_id"], payload["after"]], ["Push Hook", BOT.id, update.new]);
    deepEqual(payload["commits"], [{ id: update.new, message: "A change\n\nSvc-Task: 01KB\n" }]);
  },
);

Deno.test(
  skippable("the newest commit of an open merge request is that of its branch", NO_GIT),
  async () => {
    await using fake = await fakeGitLab();
    await fake.git.commit(GITLAB_PROJECT, BRANCH, { "a.txt": "a" }, { from: "main" });
    const one = await fake.mergeRequests.open(GITLAB_PROJECT, { user: BOT, branch: BRANCH });
    const update = { ...await pushOf(fake), old: one.sha };
    const pushed = await pushRef(remoteOf(fake, GITLAB_TOKEN.token), update, systemClock);
    equal(pushed.result, "done");
    equal(one.sha, update.new);
  },
);

const token = (more: Partial<GitLabToken>): GitLabToken => ({
  token: "glpat-other",
  user: BOT.id,
  ...more,
});

for (
  const [name, given, said] of [
    ["a token that reads only", token({ scopes: ["read_repository"] }), /not allowed to push code/],
    ["a token of the API's reader", token({ scopes: ["read_api"] }), /not allowed to push code/],
    ["a token of another project", token({ of: "brightwater/other" }), /no such repository/],
    ["the token of a reporter", token({ user: 91 }), /needs the scope api, and the role Developer/],
    ["the token of a stranger", token({ user: 92 }), /no such repository.*the scope api, and the/],
    ["a token that has expired", token({ ended: "expired" }), /it is wrong, has expired or was/],
  ] as const
) {
  Deno.test(skippable(`${name} pushes nothing`, NO_GIT), async () => {
    await using fake = await fakeGitLab({
      users: [BOT, ADA, { id: 91, username: "mo" }, { id: 92, username: "kim" }],
      tokens: [given],
    });
    fake.state.addMember(GITLAB_PROJECT, 91, { access_level: 20 });
    const pushed = await pushRef(remoteOf(fake, given.token), await pushOf(fake), systemClock);
    ok(pushed.result === "refused");
    match(pushed.reason, said);
    ok(!pushed.reason.includes("contents=write") && !pushed.mayHaveArrived);
    equal(await fake.git.find(GITLAB_PROJECT, BRANCH), undefined);
  });
}

Deno.test(
  skippable("a project that has moved is not pushed to where it is now", NO_GIT),
  async () => {
    await using fake = await fakeGitLab();
    fake.state.projectAt(GITLAB_PROJECT)?.earlier.push("brightwater/old");
    const remote = remoteOf(fake, GITLAB_TOKEN.token, "brightwater/old");
    const pushed = await pushRef(remote, await pushOf(fake), systemClock);
    ok(pushed.result === "refused");
    match(pushed.reason, /has moved: it was renamed or transferred/);
    equal(await fake.git.find(GITLAB_PROJECT, BRANCH), undefined);
  },
);
