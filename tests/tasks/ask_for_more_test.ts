/**
 * Steps whose agent has used up a budget, and that ask people for more: from the question to what comes of it,
 * with real processes.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import type { AnswerResult, Approval, AskedAnswer } from "../../src/store/approval_records.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { findFile, until } from "../helpers/until.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";
import { type Rig, testWithRig as test } from "../rigs/worker_rig.ts";

const HOUR = 3_600_000;
const NOON = Date.parse("2026-07-14T12:00:00Z");

/** Applies an Agent with one run a day. */
function apply(rig: Rig, fields = 'onBudget: {ask: {by: ["@ops"], timeout: 2h}}', runs = 1): void {
  const put = manifestResources(`
kind: Agent
metadata: {name: claude}
spec:
  command: cat >> "$LOG"; echo >> "$LOG"
  env: {LOG: "${rig.workspace}/log"}
  output: text
  timeout: 60
  sandbox: none
  budget: [{runs: ${runs}, per: day}]
  ${fields}
`);
  rig.catalog.change(put.map((resource) => ({ op: "put", resource })));
  rig.events.publish("resourcesChanged", undefined);
}

const STEPS = (more = "") =>
  `{steps: [{id: fix, agent: claude, prompt: "{{ payload.n }}"${more}}, {id: after, run: "true"}]}`;

/** The questions of tasks that wait for an answer. */
const questions = (rig: Rig) => rig.store.listApprovals({ limit: 10 });

/** The task once it waits, and its first step. */
const waiting = (rig: Rig, id: string) =>
  until(`task ${id} waits`, async () => {
    const [task] = await rig.store.findTasks(id);
    return task?.state === "waiting" ? task.steps[0] : undefined;
  });

const answer = (
  rig: Rig,
  { taskId, position, round, asked: { digest } }: Approval,
  fields: Partial<AskedAnswer> = {},
): Promise<AnswerResult> =>
  rig.store.answerWait({
    taskId,
    position,
    round,
    digest,
    key: "person:ada",
    person: "ada",
    called: "ada",
    identities: [],
    gone: [],
    startedBy: [],
    surface: "cli",
    answer: "approved",
    comment: "",
    fields: {},
    mayBy: ["@ops"],
    now: NOON,
    ...fields,
  });

/** Two tasks that wait for the budget, which another one has used up: one asks. */
async function twoWait(
  rig: Rig,
  given: { readonly steps?: string; readonly fields?: string } = {},
) {
  apply(rig, given.fields);
  const clock = setClock(NOON);
  const worker = await rig.start(1, {}, { clock });
  const steps = given.steps ?? STEPS();
  const first = await rig.queue(1, steps);
  worker.kick();
  equal((await rig.ended(first)).state, "succeeded");
  const ids: string[] = [];
  for (const n of [2, 3]) {
    const id = await rig.queue(n, steps);
    worker.kick();
    await waiting(rig, id);
    ids.push(id);
  }
  const [question, ...others] = await questions(rig);
  equal(others.length, 0, "it is asked once");
  if (question === undefined) throw new Error("nobody is asked");
  const [asking = "", other = ""] = ids;
  equal(question.taskId, asking);
  return { worker, clock, question, asking, other };
}

test("a budget that is used up is asked for once, and a yes lets as much again be used", async (rig) => {
  const told: unknown[] = [];
  rig.events.on("incidentHappened", ({ kind, taskId }) => void told.push([kind, taskId]));
  const { worker, question, asking, other } = await twoWait(rig);
  equal(
    question.asked.ask,
    "Another 1 run today for agent/claude?\nUsed so far of the budget of agent/claude (1 run per day): " +
      "1 run. It resets at 2026-07-15T00:00:00.000Z. If you approve, the steps that wait for it may use " +
      "as much again until then. If you reject, they fail.",
  );
  deepEqual([question.step, question.asked.by], ["fix", ["@ops"]]);
  equal(question.dueAt, NOON + 2 * HOUR);
  deepEqual(told.slice(1), [["budget.reached", asking], ["approval.asked", asking]]);
  const until = "2026-07-14T14:00:00.000Z";
  equal((await waiting(rig, asking)).reason, `asks @ops for another 1 run until ${until}`);
  match(
    (await waiting(rig, other)).reason,
    /^waits until 2026-07-15T00:00:00.000Z, when .* resets, or for more to be allowed$/,
  );
  equal(worker.load().running.length, 0);
  deepEqual(await answer(rig, question), { is: "over", answer: "approved" });
  worker.kick();
  const ended = await rig.ended(asking);
  deepEqual(ended.steps.map(({ state }) => state), ["succeeded", "succeeded"]);
  // that run was all that was allowed: the other task asks now
  const [next] = await untilAsked(rig);
  equal(next?.taskId, other);
  match(next?.asked.ask ?? "", /: 2 runs\. Another 1 run was allowed already\./);
  equal((await answer(rig, question)).is, "repeated", "and the old one is decided");
  await answer(rig, next ?? question);
  worker.kick();
  equal((await rig.ended(other)).state, "succeeded");
  equal(await findFile(`${rig.workspace}/log`), "1\n2\n3\n");
});

const untilAsked = (rig: Rig) =>
  until("a question", async () => {
    const open = await questions(rig);
    return open.length === 0 ? undefined : open;
  });

test("a no fails all steps that wait, and says who and why", async (rig) => {
  const { worker, question, asking, other } = await twoWait(rig);
  await answer(rig, question, { answer: "rejected", comment: "enough\nfor today" });
  worker.kick();
  for (const id of [asking, other]) {
    const { steps: [step, after] } = await rig.ended(id);
    deepEqual([step?.state, step?.failure, after?.state], ["failed", "budget", "skipped"]);
    match(
      step?.reason ?? "",
      /^Agent "claude" has reached the budget of agent\/claude \(1 run per day\), which resets at \S+, and more was rejected by ada: enough for today$/,
    );
  }
  equal(await findFile(`${rig.workspace}/log`), "1\n");
});

test("a question that nobody answers fails all steps that wait, and never means yes", async (rig) => {
  const { worker, clock, asking, other } = await twoWait(rig);
  clock.time += 2 * HOUR;
  worker.kick();
  for (const id of [asking, other]) {
    match((await rig.ended(id)).reason, /and nobody has allowed more in time$/);
  }
  equal(await findFile(`${rig.workspace}/log`), "1\n");
});

test("without an answer steps go on when the budget resets, within the next one", async (rig) => {
  const { worker, clock, question, asking, other } = await twoWait(rig, {
    fields: 'onBudget: {ask: {by: ["@ops"]}}',
  });
  equal(question.dueAt, NOON + 12 * HOUR, "until it resets");
  clock.time = question.dueAt;
  worker.kick();
  equal((await rig.ended(asking)).state, "succeeded");
  const [next] = await untilAsked(rig);
  equal(next?.taskId, other, "the next budget is used up, too");
  equal(await findFile(`${rig.workspace}/log`), "1\n2\n");
});

test("a raised limit takes the question back", async (rig) => {
  const { question, asking, other, worker } = await twoWait(rig);
  apply(rig, undefined, 5);
  await rig.store.askBudgetsAgain("default", 5);
  worker.kick();
  for (const id of [asking, other]) equal((await rig.ended(id)).state, "succeeded");
  deepEqual(await questions(rig), []);
  equal((await answer(rig, question)).is, "was over");
});

test("the task that asks is cancelled, and the other one asks", async (rig) => {
  const { worker, question, asking, other } = await twoWait(rig);
  await rig.store.cancelTask(asking, { reason: "not needed", now: NOON });
  worker.kick();
  equal((await rig.ended(asking)).state, "cancelled");
  const [next] = await untilAsked(rig);
  equal(next?.taskId, other);
  equal((await answer(rig, question)).is, "ended");
});

test("a step under finally asks nobody", async (rig) => {
  apply(rig);
  const worker = await rig.start(1);
  const last = "{steps: [{id: fix, agent: claude, prompt: a}], " +
    "finally: [{id: last, agent: claude, prompt: b}]}";
  const id = await rig.queue(1, last);
  worker.kick();
  match((await rig.ended(id)).steps[1]?.reason ?? "", /a step under "finally" does not wait$/);
  deepEqual(await questions(rig), []);
});
