/**
 * Questions of approvals: answers are counted once, of those who answer at once one decides, and
 * everybody is told the truth.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type {
  AnswerResult,
  AskedAnswer,
  AskedApproval,
} from "../../../src/store/approval_records.ts";
import type { Store } from "../../../src/store/store.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, range } from "./each_store.ts";
import { finish, inState } from "./grouped_tasks.ts";
import { claimAt, HOUR, SEC, T0 } from "./timed_tasks.ts";

const DIGEST = "7f3a91c2".padEnd(64, "0");
const ASKED: AskedApproval = {
  digest: DIGEST,
  ask: "Deploy?",
  fields: { where: { type: "choice", of: ["eu", "us"], default: "eu" } },
  by: ["@ops"],
  need: 1,
  fourEyes: false,
  protection: "sandbox",
};

/** Lets task 1 ask in its first step, and wait for the answer. */
async function ask(
  store: Store,
  { parked = true, round = 1, ...asked }: Partial<AskedApproval> & {
    readonly parked?: boolean;
    readonly round?: number;
  } = {},
): Promise<void> {
  const part = { kind: "approval", dueAt: T0 + HOUR, isRelative: true } as const;
  const question = JSON.parse(JSON.stringify({ ...ASKED, ...asked }));
  await store.openWait({
    taskId: taskIdOf(1),
    position: 0,
    round,
    project: "default",
    parts: [{ ...part, asked: question, shown: "+ all of it" }],
    now: T0,
  });
  if (!parked) return;
  const parking = { until: T0 + HOUR, now: T0, waits: [0], hasOwnFiles: true, activeMs: 0 };
  await store.parkTask(taskIdOf(1), { steps: [], ...parking });
}

async function running(store: Store): Promise<void> {
  await accept(store, 1);
  await claimAt(store, T0);
}

function answer(
  store: Store,
  who: string,
  fields: Partial<AskedAnswer> = {},
): Promise<AnswerResult> {
  return store.answerWait({
    taskId: taskIdOf(1),
    position: 0,
    round: 1,
    key: `person:${who}`,
    person: who,
    identities: [],
    gone: [],
    mayBy: ["@ops"],
    startedBy: [],
    called: who,
    surface: "cli",
    answer: "approved",
    digest: DIGEST,
    comment: "",
    fields: {},
    now: T0 + SEC,
    ...fields,
  });
}

eachStore("an answer lets its task go on, and is told again to who repeats it", async (store) => {
  await running(store);
  await ask(store);
  deepEqual(await inState(store, "waiting"), [1]);
  equal(await store.oldestApproval(), T0);
  const given = { comment: "looks good", fields: { where: "us" } };
  deepEqual(await answer(store, "ada", given), { is: "over", answer: "approved" });
  equal(await store.oldestApproval(), undefined);
  deepEqual((await claimAt(store, T0 + SEC)).tasks, [1]);
  const end = {
    by: "answer",
    answer: "approved",
    who: ["ada"],
    ...given,
    at: T0 + SEC,
    part: 0,
  } as const;
  const found = await store.findApproval({ taskId: taskIdOf(1), position: 0 });
  deepEqual(found?.end, end);
  deepEqual(found?.answers.map(({ called, surface, fields }) => [called, surface, fields]), [
    ["ada", "cli", { where: "us" }],
  ]);
  deepEqual(await answer(store, "ada", given), {
    is: "repeated",
    answer: "approved",
    given: 1,
    need: 1,
    end,
  });
  deepEqual(await answer(store, "bob"), { is: "was over", end });
  deepEqual(await answer(store, "ada", { answer: "rejected" }), { is: "was over", end });
});

eachStore("open questions are listed with their answers, the diff only with one", async (store) => {
  await running(store);
  await ask(store, { need: 2 });
  deepEqual(await answer(store, "ada"), { is: "counted", given: 1, need: 2 });
  const [listed] = await store.listApprovals({ limit: 9 });
  equal(listed?.step, "build");
  equal(listed?.dueAt, T0 + HOUR);
  deepEqual(listed?.asked, { ...ASKED, need: 2 });
  deepEqual(listed?.answers.map(({ called }) => called), ["ada"]);
  equal(listed?.diff, undefined);
  equal((await store.findApproval({ taskId: taskIdOf(1), position: 0 }))?.diff, "+ all of it");
  equal((await store.listApprovals({ project: "other", limit: 9 })).length, 0);
  equal((await store.countWaits()).approval, 1);
  const end = { by: "hand", who: "an operator", reason: "in a hurry" } as const;
  const byHand = { taskId: taskIdOf(1), position: 0, end, now: T0 + SEC };
  deepEqual(await store.endWait(byHand), { is: "asks people" });
  deepEqual(await answer(store, "bob"), { is: "over", answer: "approved" });
  deepEqual(await store.listApprovals({ limit: 9 }), []);
});

eachStore(
  "an answer of a Person who is gone counts no more, and goes with the next",
  async (store) => {
    await running(store);
    await ask(store, { need: 2 });
    deepEqual(await answer(store, "ada"), { is: "counted", given: 1, need: 2 });
    const gone = ["person:ada"];
    deepEqual(await answer(store, "lovelace", { gone }), { is: "counted", given: 1, need: 2 });
    const [listed] = await store.listApprovals({ limit: 9 });
    deepEqual(listed?.answers.map(({ called }) => called), ["lovelace"]);
    deepEqual(await answer(store, "bob"), { is: "over", answer: "approved" });
    const found = await store.findApproval({ taskId: taskIdOf(1), position: 0 });
    deepEqual(found?.end?.by === "answer" ? found.end.who : [], ["lovelace", "bob"]);
  },
);

eachStore("of fifty who answer at once one decides, and all are told the truth", async (store) => {
  await running(store);
  await ask(store, { need: 2 });
  const people = range(1, 26).map((n) => `p${n}`);
  const results = await Promise.all(people.flatMap((who) => [
    answer(store, who),
    answer(store, who, { now: T0 + 2 * SEC }),
  ]));
  const count = (is: string) => results.filter((one) => one.is === is).length;
  equal(count("over"), 1);
  equal(count("counted"), 1);
  equal(count("repeated") + count("was over"), 48);
  const found = await store.findApproval({ taskId: taskIdOf(1), position: 0 });
  equal(found?.answers.length, 2);
  const who = found?.end?.by === "answer" ? found.end.who : [];
  deepEqual([...who].sort(), found?.answers.map(({ called }) => called).sort());
  for (const result of results) {
    if (result.is === "was over") deepEqual(result.end, found?.end);
  }
  deepEqual((await claimAt(store, T0 + SEC)).tasks, [1]);
});

eachStore("one yes and one no at once: one of them decides", async (store) => {
  await running(store);
  await ask(store);
  const results = await Promise.all(
    range(0, 10).map((n) =>
      answer(store, `p${n}`, { answer: n % 2 === 0 ? "approved" : "rejected" })
    ),
  );
  equal(results.filter(({ is }) => is === "over").length, 1);
  equal(results.filter(({ is }) => is === "was over").length, 9);
});

eachStore(
  "an answer after its time is late, also before anything has woken the task",
  async (store) => {
    await running(store);
    await ask(store);
    const end = { by: "time", at: T0 + HOUR, part: 0 } as const;
    deepEqual(await answer(store, "ada", { now: T0 + HOUR }), { is: "was over", end });
    deepEqual((await claimAt(store, T0 + HOUR)).tasks, [1]);
    deepEqual((await store.findApproval({ taskId: taskIdOf(1), position: 0 }))?.answers, []);
  },
);

eachStore("an answer comes before the task is parked, or to none", async (store) => {
  await running(store);
  deepEqual(await answer(store, "ada"), { is: "none" });
  await ask(store, { parked: false });
  deepEqual(await answer(store, "ada", { round: 2 }), { is: "none" });
  deepEqual(await answer(store, "ada"), { is: "over", answer: "approved" });
  const parking = { until: T0 + HOUR, now: T0, waits: [0], hasOwnFiles: true, activeMs: 0 };
  await store.parkTask(taskIdOf(1), { steps: [], ...parking });
  deepEqual((await claimAt(store, T0 + SEC)).tasks, [1], "parked, it would never go on");
});

eachStore("no answer counts once the task is cancelled, or has ended", async (store) => {
  await running(store);
  await ask(store);
  await store.cancelTask(taskIdOf(1), { reason: "no", now: T0 });
  deepEqual(await answer(store, "ada"), { is: "ended" });
  await claimAt(store, T0 + SEC);
  await finish(store, 1);
  deepEqual(await answer(store, "ada"), { is: "ended" });
});

eachStore("a question of a later round is another one", async (store) => {
  await running(store);
  await ask(store, { parked: false });
  await answer(store, "ada");
  await ask(store, { round: 2, digest: "00".repeat(32) });
  const newest = await store.findApproval({ taskId: taskIdOf(1), position: 0 });
  deepEqual([newest?.round, newest?.answers], [2, []]);
  deepEqual(await answer(store, "ada", { round: 2 }), {
    is: "other digest",
    digest: "00".repeat(32),
  });
  equal(
    (await store.findApproval({ taskId: taskIdOf(1), position: 0, round: 1 }))?.end?.at,
    T0 + SEC,
  );
});

eachStore("answers go with their task", async (store) => {
  await running(store);
  await ask(store);
  await answer(store, "ada");
  await claimAt(store, T0 + SEC);
  await finish(store, 1);
  const gone = await store.pruneTasks({ before: T0 * 9, keep: 0, limit: 9 });
  deepEqual(gone.map(({ id }) => id), [taskIdOf(1)]);
  equal(await store.findApproval({ taskId: taskIdOf(1), position: 0 }), undefined);
});
