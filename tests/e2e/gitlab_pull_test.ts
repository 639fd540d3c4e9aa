/**
 * Merge requests of a task at GitLab: what is the same as at GitHub is tested there, what differs here.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { startDaemon } from "../helpers/daemon.ts";
import { changeTest, cloneOf, messageOf } from "../rigs/change_rig.ts";
import { askAt, createPullAt, manifestsAt, pushChangeAt } from "../rigs/forge_changes.ts";
import { gitHubFake, gitLabFake } from "../rigs/forge_fakes.ts";

changeTest(
  "an issue and a merge request of one number have a merge request each",
  async (program) => {
    await using forge = await gitLabFake();
    await using clone = await cloneOf(forge, forge.repository);
    await using daemon = await startDaemon(program);
    await daemon.apply(...manifestsAt(forge, { pull: { max: 1, draft: false } }));
    await forge.git.commit(forge.repository, "topic", { "topic.txt": "x\n" }, { from: "main" });
    const number = await forge.openPull("topic");
    for (const [isPull, branch] of [[false, "svc/fix-1"], [true, "svc/fix-mr-1"]] as const) {
      const task = await askAt(forge, daemon, number, isPull);
      await clone.checkOut("main");
      const change = await clone.change({ [`${isPull}.txt`]: "x\n" });
      const given = { task, title: "Mend the gauge", body: "It works" };
      const made = await createPullAt(forge, daemon, change, given);
      equal(made.branch, branch);
      const { state, kind, reason, external_id } = await messageOf(daemon, made.outbox_id);
      equal(state, "sent", reason);
      equal(kind, "gitlab-pull");
      match(external_id ?? "", new RegExp(`^[0-9]+ ${made.sha}`));
      deepEqual(forge.pullsFrom(branch).map(({ sha, title }) => [sha, title]), [
        [made.sha, "Mend the gauge"],
      ]);
    }
    // Only an issue is closed by a merge.
    const texts = forge.fake.mergeRequests.all.map(({ thread }) =>
      /^Fixes.*/m.exec(thread.description)
    );
    deepEqual(texts.map((found) => found?.[0]), [undefined, "Fixes #1", undefined]);
    // Again with its key: the same merge request, renewed.
    const task = await askAt(forge, daemon, number, true);
    await clone.checkOut("main");
    const change = await clone.change({ "again.txt": "x\n" });
    const made = await createPullAt(forge, daemon, change, { task, title: "Mend it better" });
    equal((await messageOf(daemon, made.outbox_id)).state, "sent");
    deepEqual(forge.pullsFrom("svc/fix-mr-1").map(({ sha, title }) => [sha, title]), [
      [made.sha, "Mend it better"],
    ]);
    const mail = await forge.git.run(forge.repository, "log", "-1", "--format=%an %ae", made.sha);
    equal(mail.trim(), "svc-bot 4242-svc-bot@users.noreply.127.0.0.1");
  },
);

changeTest("one more commit onto the merge request of an event", async (program) => {
  await using forge = await gitLabFake();
  const { git, repository } = forge;
  await using clone = await cloneOf(forge, repository);
  await using daemon = await startDaemon(program);
  await daemon.apply(...manifestsAt(forge, { push: { max: 2 } }));
  await git.commit(repository, "topic", { "topic.txt": "x\n" }, { from: "main" });
  const number = await forge.openPull("topic");
  const task = await askAt(forge, daemon, number, true);
  await clone.checkOut("topic");
  const change = await clone.change({ "more.txt": "x\n" });
  const made = await pushChangeAt(forge, daemon, change, { task, message: "Add more" });
  const { state, kind, reason } = await messageOf(daemon, made.outbox_id);
  equal(state, "sent", reason);
  equal(kind, "gitlab-push");
  equal(await git.find(repository, "refs/heads/topic"), made.sha);
  await rejects(pushChangeAt(forge, daemon, change, { task }), {
    message: /^Merge request !1 is at [0-9a-f]{10} now, and this change begins at /,
  });
  const onIssue = await askAt(forge, daemon, number);
  await rejects(pushChangeAt(forge, daemon, change, { task: onIssue }), {
    message: /has no merge request to push onto$/,
  });
});

changeTest("a task has the outputs of the forge of its event alone", async (program) => {
  await using forge = await gitLabFake();
  await using other = await gitHubFake();
  await using clone = await cloneOf(forge, forge.repository);
  await using daemon = await startDaemon(program);
  await daemon.apply(...manifestsAt(forge, { pull: { base: ["release"] } }));
  const task = await askAt(forge, daemon, 1);
  await clone.checkOut("main");
  const change = await clone.change({ "x.txt": "x\n" });
  await rejects(createPullAt(other, daemon, change, { task, title: "t" }), {
    message: /^may\.github\.pull is not in Workflow "fix"/,
  });
  await rejects(createPullAt(forge, daemon, change, { task, title: "t", base: "main" }), {
    message: /^may\.gitlab\.pull\.base of Workflow "fix" allows release, and not "main"/,
  });
  await rejects(createPullAt(forge, daemon, change, { task, title: "t", base: "release" }), {
    message: /has no branch "release"/,
  });
});
