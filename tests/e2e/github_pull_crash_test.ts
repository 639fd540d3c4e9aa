/**
 * A pull request under kill -9 between every two calls of its message: one branch, one commit, one pull
 * request, and in the end it is there with everything that it should have.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { FakeGitHubWithGit } from "../fakes/github_git.ts";
import { problem } from "../fakes/github.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM, slowTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import {
  ADA,
  ask,
  changeableGitHub,
  cloneOf,
  createPull,
  manifestsOf,
  messageOf,
  REPOSITORY,
} from "../rigs/change_rig.ts";

/** More calls than a message makes. */
const MAX_CALLS = 40;

type Moment = "before it is carried out" | "before its answer";

/**
 * Kills the daemon at the nth call from now on. Whether the message made so many calls; `false` once it
 * was sent before.
 */
async function killAt(
  fake: FakeGitHubWithGit,
  { daemon, nth, moment, id }: {
    readonly daemon: TestDaemon;
    readonly nth: number;
    readonly moment: Moment;
    readonly id: string;
  },
): Promise<boolean> {
  let left = nth;
  const { promise: killed, resolve } = Promise.withResolvers<true>();
  fake.interfere = (_call, carryOut) => {
    if (--left !== 0) return undefined;
    return (async () => {
      const answer = moment === "before its answer" ? await carryOut() : undefined;
      await daemon.crash();
      resolve(true);
      return answer ?? problem(500, "nobody hears this");
    })();
  };
  using client = daemon.client();
  await client.call("outbox.send", { id }).catch(() => {}); // its answer may be lost, too
  const sent = messageOf(daemon, id).then(() => false, () => killed);
  const wasKilled = await Promise.race([killed, sent]);
  fake.interfere = undefined;
  return wasKilled;
}

async function survives(moment: Moment): Promise<void> {
  await using fake = await changeableGitHub();
  await using clone = await cloneOf(fake);
  await using directory = await initDataDirectory(ONE_PROGRAM);
  const may = { pull: { hold: "always", labels: ["automated"], reviewers: ["ada"] } };
  let calls = 0;
  for (let nth = 1; nth <= MAX_CALLS; nth++) {
    const number = 1000 * nth; // an issue of its own for each round
    const shared = { repository: REPOSITORY, title: "t", body: "", user: ADA };
    fake.issues.issues.push({ ...shared, number });
    let wasKilled: boolean;
    let id: string;
    let sha: string;
    {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      if (nth === 1) await daemon.apply(...manifestsOf(fake.url, { may }));
      const task = await ask(daemon, { number });
      await clone.checkOut("main");
      const change = await clone.change({ [`round-${nth}`]: "x\n" });
      ({ outbox_id: id, sha } = await createPull(daemon, change, { task, title: `Round ${nth}` }));
      wasKilled = await killAt(fake, { daemon, nth, moment, id });
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    const message = await messageOf(daemon, id);
    equal(message.state, "sent", `killed at call ${nth}: ${message.reason}`);
    const ours = fake.pulls.pulls.filter(({ head }) => head.branch === `svc/fix-${number}`);
    deepEqual(
      ours.map(({ head, reviewers, issue }) => [head.sha, reviewers, issue.labels, issue.title]),
      [[sha, ["ada"], ["automated"], `Round ${nth}`]],
      `killed at call ${nth}`,
    );
    equal(await fake.git.find(REPOSITORY, `refs/heads/svc/fix-${number}`), sha);
    if (!wasKilled) break;
    calls = nth;
  }
  ok(calls >= 8 && calls < MAX_CALLS, `the daemon was killed at each of ${calls} calls`);
  const refs = [...(await fake.git.refs(REPOSITORY)).keys()];
  equal(refs.length, 1 + calls + 1, "main, and one branch for each round");
}

/** Of the two moments around a call, the database has a part in what follows its answer. */
const FILE_ONLY = {
  "before it is carried out": { fileOnly: "the moment after the call before it, which is tried" },
  "before its answer": {},
} as const;

for (const moment of ["before it is carried out", "before its answer"] as const) {
  slowTest(
    `a daemon that is killed at each call of a message, ${moment}: one pull request`,
    async () => await survives(moment),
    { skip: missing("git"), ...FILE_ONLY[moment] },
  );
}
