/**
 * A change of the resources at one node while another one takes pushes: once it has returned, nothing
 * is accepted any more by what was there before, whether or not the other node was told of it at once.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import { startCluster } from "../rigs/cluster.ts";

const SENDERS = 4;
/** Answers that are looked at before and after a change. */
const ANSWERS = 20;

/** Sends without a pause while something changes; gives the answers to what was sent after that. */
async function answersAfter(
  change: () => Promise<unknown>,
  send: () => Promise<{ readonly status: number }>,
): Promise<ReadonlySet<number>> {
  const [before, after]: [number[], number[]] = [[], []];
  let [isChanged, isOver] = [false, false];
  const senders = Array.from({ length: SENDERS }, async () => {
    while (!isOver) {
      const answers = isChanged ? after : before;
      answers.push((await send()).status);
    }
  });
  const enough = (answers: readonly number[]) =>
    until(`${ANSWERS} answers`, () => answers.length >= ANSWERS || undefined);
  try {
    await enough(before);
    await change();
    isChanged = true;
    await enough(after);
  } finally {
    isOver = true;
    await Promise.all(senders);
  }
  deepEqual(new Set(before.slice(0, ANSWERS)), new Set([200]));
  return new Set(after);
}

postgresTest("a secret that one node revokes is no longer accepted by another", async (t) => {
  await using cluster = await startCluster(ONE_PROGRAM, 2);
  const [[a, b], [, cableOfB]] = [cluster.daemons, cluster.cables];
  ok(a !== undefined && b !== undefined && cableOfB !== undefined);
  await a.apply(workflow("record", "true"));

  const push = (secret: string) => {
    const body = '{"ref":"refs/heads/main"}';
    return b.send("/webhook/push", { headers: githubHeaders(secret, body, "push"), body });
  };
  const revoke = async (run: string, begin = () => {}): Promise<void> => {
    const [old, next] = [`the old secret, ${run}`, `the next secret, ${run}`];
    await a.apply(secretStore("github", { webhook_secret: old }), trigger("push"));
    begin();
    const rotated = await answersAfter(
      () => a.apply(secretStore("github", { webhook_secret: next })),
      () => push(old),
    );
    deepEqual(rotated, new Set([401]));
    const deleted = await answersAfter(
      async () => equal((await a.svc(["delete", "trigger", "push"])).code, 0),
      () => push(next),
    );
    deepEqual(deleted, new Set([404]));
  };

  await t.step("where it is told at once", () => revoke("told"));
  await t.step("where it is told nothing", () => revoke("untold", () => cableOfB.deafen()));

  await t.step(
    "a secret that one node adds is soon accepted by another that gets no hint",
    async () => {
      cableOfB.deafen();
      await a.apply(secretStore("github", { webhook_secret: "added" }), trigger("push"));
      await until("a push", async () => (await push("added")).status === 200 || undefined);
    },
  );
});
