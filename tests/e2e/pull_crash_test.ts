/**
 * A pull under kill -9 between every two calls of its message, at each forge: one branch, one commit, one
 * pull, and in the end it is there with everything that it should have.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { FORGE_WORDS, type ForgeName, FORGES } from "../../src/base/forge_names.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM, slowTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { cloneOf, messageOf } from "../rigs/change_rig.ts";
import { askAt, createPullAt, manifestsAt } from "../rigs/forge_changes.ts";
import { FORGE_FAKES, type ForgeFake } from "../rigs/forge_fakes.ts";

/** More calls than a message makes. */
const MAX_CALLS = 40;
/** What marks a draft in its title. */
const DRAFT = { github: "", gitlab: "Draft: " };

type Moment = "before it is carried out" | "before its answer";

/**
 * Kills the daemon at the nth call from now on. Whether the message made so many calls; `false` once it
 * was sent before.
 */
async function killAt(
  forge: ForgeFake,
  { daemon, nth, moment, id }: {
    readonly daemon: TestDaemon;
    readonly nth: number;
    readonly moment: Moment;
    readonly id: string;
  },
): Promise<boolean> {
  let left = nth;
  const { promise: killed, resolve } = Promise.withResolvers<true>();
  forge.interfere((_call, carryOut) => {
    if (--left !== 0) return undefined;
    return (async () => {
      const answer = moment === "before its answer" ? await carryOut() : undefined;
      await daemon.crash();
      resolve(true);
      return answer ?? new Response("nobody hears this", { status: 500 });
    })();
  });
  using client = daemon.client();
  await client.call("outbox.send", { id }).catch(() => {}); // its answer may be lost, too
  const sent = messageOf(daemon, id).then(() => false, () => killed);
  const wasKilled = await Promise.race([killed, sent]);
  forge.interfere(undefined);
  return wasKilled;
}

async function survives(name: ForgeName, moment: Moment): Promise<void> {
  await using forge = await FORGE_FAKES[name]();
  const { git, repository, person } = forge;
  await using clone = await cloneOf(forge, repository);
  await using directory = await initDataDirectory(ONE_PROGRAM);
  const may = { pull: { hold: "always", labels: ["automated"], reviewers: [person] } };
  let calls = 0;
  for (let nth = 1; nth <= MAX_CALLS; nth++) {
    const number = 1000 * nth; // an issue of its own for each round
    let wasKilled: boolean;
    let id: string;
    let sha: string;
    {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      if (nth === 1) await daemon.apply(...manifestsAt(forge, may));
      const task = await askAt(forge, daemon, number);
      await clone.checkOut("main");
      const change = await clone.change({ [`round-${nth}`]: "x\n" });
      const given = { task, title: `Round ${nth}` };
      ({ outbox_id: id, sha } = await createPullAt(forge, daemon, change, given));
      wasKilled = await killAt(forge, { daemon, nth, moment, id });
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    const message = await messageOf(daemon, id);
    equal(message.state, "sent", `killed at call ${nth}: ${message.reason}`);
    deepEqual(
      forge.pullsFrom(`svc/fix-${number}`),
      [{
        title: `${DRAFT[name]}Round ${nth}`,
        sha,
        labels: ["automated"],
        reviewers: [person],
      }],
      `killed at call ${nth}`,
    );
    equal(await git.find(repository, `refs/heads/svc/fix-${number}`), sha);
    if (!wasKilled) break;
    calls = nth;
  }
  ok(calls >= 8 && calls < MAX_CALLS, `the daemon was killed at each of ${calls} calls`);
  const branches = [...(await git.refs(repository)).keys()]
    .filter((ref) => ref.startsWith("refs/heads/"));
  equal(branches.length, 1 + calls + 1, "main, and one branch for each round");
}

/** Of the two moments around a call, the database has a part in what follows its answer. */
const FILE_ONLY = {
  "before it is carried out": { fileOnly: "the moment after the call before it, which is tried" },
  "before its answer": {},
} as const;

for (const forge of FORGES) {
  const { title, pull } = FORGE_WORDS[forge];
  for (const moment of ["before it is carried out", "before its answer"] as const) {
    slowTest(
      `a daemon that is killed at each call of a message to ${title}, ${moment}: one ${pull}`,
      async () => await survives(forge, moment),
      { skip: missing("git"), ...FILE_ONLY[moment] },
    );
  }
}
