/**
 * Answers to one question that come at once through two daemons.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { AnswerResult } from "../../../src/store/approval_records.ts";
import type { Store } from "../../../src/store/store.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { HOUR, SEC, T0 } from "../contract/timed_tasks.ts";

const DIGEST = "7f3a91c2".padEnd(64, "0");
const PLACE = { taskId: taskIdOf(1), position: 0 };

const answer = (store: Store, who: string, given: "approved" | "rejected"): Promise<AnswerResult> =>
  store.answerWait({
    ...PLACE,
    round: 1,
    key: `person:${who}`,
    person: who,
    identities: [],
    gone: [],
    mayBy: ["@ops"],
    startedBy: [],
    called: who,
    surface: "cli",
    answer: given,
    digest: DIGEST,
    comment: "",
    fields: {},
    now: T0 + SEC,
  });

/** Lets task 1, which daemon `a` runs, ask two people and wait. */
async function ask(a: Store): Promise<void> {
  await accept(a, 1);
  await a.claimTasks(1, T0);
  const asked = {
    digest: DIGEST,
    ask: "Deploy?",
    fields: {},
    by: ["@ops"],
    need: 2,
    fourEyes: false,
    protection: "sandbox",
  };
  const parts = [{ kind: "approval", dueAt: T0 + HOUR, isRelative: true, asked }] as const;
  await a.openWait({ ...PLACE, round: 1, project: "default", parts, now: T0 });
  const parking = { until: T0 + HOUR, now: T0, waits: [0], hasOwnFiles: true, activeMs: 0 };
  await a.parkTask(PLACE.taskId, { steps: [], ...parking });
}

twoDaemonsTest(
  "of 50 answers at once through two daemons, one pair decides, and all are told the truth",
  async ({ a, b }) => {
    await ask(a);
    const results = await Promise.all(
      range(0, 25).flatMap((n) => [
        answer(a, `p${n}`, "approved"),
        answer(b, `p${n}`, "approved"),
      ]),
    );
    const told = (is: AnswerResult["is"]) => results.filter((one) => one.is === is).length;
    deepEqual([told("over"), told("counted")], [1, 1]);
    equal(told("repeated") + told("was over"), 48);
    const found = await b.findApproval(PLACE);
    const who = found?.end?.by === "answer" ? found.end.who : [];
    equal(new Set(who).size, 2);
    deepEqual(found?.answers.map(({ called }) => called).sort(), [...who].sort());
    for (const result of results) {
      if (result.is === "was over") deepEqual(result.end, found?.end);
    }
    const claims = await Promise.all([a, b].map((store) => store.claimTasks(5, T0 + SEC)));
    deepEqual(claims.flatMap(({ tasks }) => tasks.map(({ task }) => numberOf(task.id))), [1]);
  },
);

twoDaemonsTest("a yes and a no at once through two daemons: each is told the end", async (both) => {
  await ask(both.a);
  await answer(both.a, "first", "approved");
  const results = await Promise.all(
    range(0, 25).flatMap((n) => [
      answer(both.a, `yes${n}`, "approved"),
      answer(both.b, `no${n}`, "rejected"),
    ]),
  );
  const [decided, ...more] = results.filter(({ is }) => is === "over");
  deepEqual(more, []);
  const found = await both.b.findApproval(PLACE);
  const end = found?.end?.by === "answer" ? found.end.answer : undefined;
  equal(decided?.is === "over" && decided.answer, end);
  equal(results.filter(({ is }) => is === "was over").length, 49);
});
