/**
 * Steps that ask people: from the workflow to the question, and on with what the answer was.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import type { AnswerResult, Approval, AskedAnswer } from "../../src/store/approval_records.ts";
import type { Task } from "../../src/store/task_records.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { findFile, until } from "../helpers/until.ts";
import { type Rig, testWithRig as test } from "../rigs/worker_rig.ts";

const DAY = 86_400_000;

const states = ({ steps }: Task) => steps.map(({ id, state }) => `${id} ${state}`);

/** The open question of a task, once it is parked. */
const asked = (rig: Rig, id: string): Promise<Approval> =>
  until(`task ${id} asks`, async () => {
    const [task] = await rig.store.findTasks(id);
    const [open] = await rig.store.listApprovals({ taskId: id, limit: 1 });
    return task?.state === "waiting" ? open : undefined;
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
    mayBy: ["ada"],
    now: Date.now(),
    ...fields,
  });

const DEPLOY = (approval: string, last = 'run: "echo b >> log"') =>
  `{steps: [{id: a, run: "echo text=x >> $SVC_OUTPUT"}, {id: ok, approval: {by: [ada], ${approval}}},
    {id: b, ${last}}]}`;

const ASK = 'ask: "Deploy {{ payload.sha }}? {{ steps.a.outputs.text }}"';

test("a step asks, and the next one runs with the answer", async (rig) => {
  const worker = await rig.start(1);
  const told: unknown[] = [];
  rig.events.on("incidentHappened", ({ kind, taskId }) => void told.push([kind, taskId]));
  const approval = `${ASK}, fields: {text: {type: text, default: "{{ steps.a.outputs.text }}"},
    where: {type: choice, of: [eu, us]}}`;
  const read = "{{ steps.ok.outputs.answer }} {{ steps.ok.outputs.by }} " +
    "{{ steps.ok.outputs.where }} {{ steps.ok.outputs.text }} {{ steps.ok.outputs.comment }}";
  const id = await rig.queue(
    1,
    DEPLOY(approval, `env: {SAID: "${read}"}, run: 'echo "$SAID" >> log'`),
    '{"sha": "c0ffee"}',
  );
  worker.kick();
  const question = await asked(rig, id);
  deepEqual(told, [["approval.asked", id]]);
  equal(worker.load().running.length, 0);
  equal(question.step, "ok");
  equal(question.asked.ask, "Deploy c0ffee? x");
  deepEqual(question.asked.fields, {
    text: { type: "text", default: "x" },
    where: { type: "choice", of: ["eu", "us"] },
  });
  equal(question.dueAt - question.openedAt, 7 * DAY);
  match(question.asked.digest, /^[0-9a-f]{64}$/);
  const [task] = await rig.store.findTasks(id);
  match(task?.steps[1]?.reason ?? "", /^asks ada until /);
  const given = { fields: { where: "eu" }, comment: "go" };
  deepEqual(await answer(rig, question, given), { is: "over", answer: "approved" });
  worker.kick();
  const ended = await rig.ended(id);
  deepEqual(states(ended), ["a succeeded", "ok succeeded", "b succeeded"]);
  equal(ended.steps[1]?.reason, "approved by ada: go");
  equal(await findFile(`${rig.workspace}/log`), "approved ada eu x go\n");
});

test("a rejection fails the step, and says who and why", async (rig) => {
  const worker = await rig.start(1);
  const id = await rig.queue(1, DEPLOY(ASK), '{"sha": "1"}');
  worker.kick();
  const question = await asked(rig, id);
  await answer(rig, question, { answer: "rejected", comment: "wrong\nbranch" });
  worker.kick();
  const ended = await rig.ended(id);
  deepEqual(states(ended), ["a succeeded", "ok failed", "b skipped"]);
  equal(ended.reason, 'step "ok": rejected by ada: wrong branch');
  equal(await findFile(`${rig.workspace}/log`), undefined);
});

test("a question that nobody answers fails the step, and never means yes", async (rig) => {
  const clock = setClock(Date.now());
  const worker = await rig.start(1, {}, { clock });
  const id = await rig.queue(1, DEPLOY(`${ASK}, timeout: 3d`), '{"sha": "1"}');
  worker.kick();
  await asked(rig, id);
  clock.time += 3 * DAY;
  worker.kick();
  const ended = await rig.ended(id);
  deepEqual(states(ended), ["a succeeded", "ok failed", "b skipped"]);
  deepEqual(ended.steps[1]?.failure, "timeout");
  equal(ended.reason, 'step "ok": nobody decided within 3d');
  equal(ended.steps[1]?.outputs?.["answer"], "timeout");
});

test("onReject: continue leaves it to the next step", async (rig) => {
  const worker = await rig.start(1);
  const when = `when: 'steps.ok.outputs.answer == "approved"', run: "echo b >> log"`;
  const id = await rig.queue(1, DEPLOY(`${ASK}, onReject: continue`, when), '{"sha": "1"}');
  worker.kick();
  await answer(rig, await asked(rig, id), { answer: "rejected" });
  worker.kick();
  const ended = await rig.ended(id);
  deepEqual(states(ended), ["a succeeded", "ok succeeded", "b skipped"]);
  equal(ended.state, "succeeded");
});

test("the same question again has another digest, and what differs has one too", async (rig) => {
  const worker = await rig.start(2);
  const one = await rig.queue(1, DEPLOY(ASK), '{"sha": "1"}');
  const two = await rig.queue(2, DEPLOY(ASK), '{"sha": "1"}');
  worker.kick();
  const [first, second] = [await asked(rig, one), await asked(rig, two)];
  equal(first.asked.ask, second.asked.ask);
  deepEqual(await answer(rig, second, { digest: first.asked.digest }), {
    is: "other digest",
    digest: second.asked.digest,
  });
});

test("a restart asks nothing again", async (rig) => {
  const first = await rig.start(1);
  const id = await rig.queue(1, DEPLOY(ASK), '{"sha": "1"}');
  first.kick();
  const question = await asked(rig, id);
  await first[Symbol.asyncDispose]();
  await answer(rig, question);
  await rig.start(1);
  equal((await rig.ended(id)).state, "succeeded");
  equal(await findFile(`${rig.workspace}/log`), "b\n");
});

test("a question that cannot be made fails the step", async (rig) => {
  const run = (n: number, approval: string, payload = "{}") =>
    rig.queue(n, DEPLOY(approval), payload);
  const missing = await run(1, ASK);
  const long = await run(2, 'ask: "{{ payload.x }}"', JSON.stringify({ x: "x".repeat(65_537) }));
  const field = 'ask: x, fields: {a: {type: choice, of: [b], default: "{{ payload.x }}"}}';
  const choice = await run(3, field, '{"x": "c"}');
  const blank = await run(5, 'ask: "{{ payload.x }} {{ payload.x }}"', '{"x": null}');
  const shared = await run(4, "ask: x, diff: true");
  await rig.start(2);
  match((await rig.ended(missing)).reason, /^step "ok": .*has no value/);
  match((await rig.ended(long)).reason, /^step "ok": The question has more than 64 KiB/);
  match((await rig.ended(choice)).reason, /^step "ok": The default of "a" is none of b/);
  match((await rig.ended(blank)).reason, /^step "ok": The question is empty/);
  match((await rig.ended(shared)).reason, /^step "ok": "diff" shows what a worktree changes/);
});

test("a question and its answer are the same in every database, also with NUL", async (rig) => {
  const worker = await rig.start(1);
  const field = 'ask: "{{ payload.x }}?", fields: {a: {type: text, default: "{{ payload.x }}"}}';
  const last = `env: {A: "{{ steps.ok.outputs.a }}"}, run: 'echo "$A" >> log'`;
  const id = await rig.queue(1, DEPLOY(field, last), '{"x": "a\\u0000b\\ud800"}');
  worker.kick();
  const question = await asked(rig, id);
  deepEqual([question.asked.ask, question.asked.fields["a"]?.default], ["a␀b�?", "a␀b�"]);
  await answer(rig, question);
  worker.kick();
  equal((await rig.ended(id)).state, "succeeded");
  equal(await findFile(`${rig.workspace}/log`), "a␀b�\n");
});
