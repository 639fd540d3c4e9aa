/**
 * Steps that wait: from the workflow to the row, without a worker, and on with the next step.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import { firstIdAt } from "../../src/base/ids.ts";
import type { Task } from "../../src/store/task_records.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { findFile, until, untilFile } from "../helpers/until.ts";
import { type Rig, takeOverAndCrash, testWithRig as test } from "../rigs/worker_rig.ts";

const HOUR = 3_600_000;

const states = ({ steps }: Task) => steps.map(({ id, state }) => `${id} ${state}`);

const inState = (rig: Rig, id: string, state: string) =>
  until(`task ${id} ${state}`, async () => {
    const [task] = await rig.store.findTasks(id);
    return task?.state === state ? task : undefined;
  });

const BY_ADA = { end: { by: "hand", who: "ada", reason: "it is done" }, now: 1 } as const;

const LONG = '{steps: [{id: a, run: "echo a >> log"}, {id: pause, waitFor: {for: 1h}}, ' +
  '{id: b, run: "echo b >> log"}]';

test("a task that waits has no worker, and goes on at its time", async (rig) => {
  const clock = setClock(Date.now());
  const worker = await rig.start(1, {}, { clock });
  const id = await rig.queue(1, `${LONG}}`);
  worker.kick();
  const task = await inState(rig, id, "waiting");
  deepEqual(states(task), ["a succeeded", "pause waiting", "b pending"]);
  equal(worker.load().running.length, 0);
  const [wait] = await rig.store.listWaits({ limit: 9 });
  deepEqual([wait?.step, wait?.dueAt], ["pause", clock.time + HOUR]);
  const other = await rig.queue(2, '{steps: [{id: one, run: "true"}]}');
  worker.kick();
  equal((await rig.ended(other)).state, "succeeded", "its only worker is free");
  clock.time += HOUR - 1;
  worker.kick();
  const third = await rig.queue(3, '{steps: [{id: one, run: "true"}]}');
  worker.kick();
  await rig.ended(third);
  equal(await findFile(`${rig.workspace}/log`), "a\n", "not a moment before");
  clock.time += 1;
  worker.kick();
  const ended = await rig.ended(id);
  deepEqual([ended.state, ended.restarts], ["succeeded", 0]);
  deepEqual(states(ended), ["a succeeded", "pause succeeded", "b succeeded"]);
  const [, pause] = ended.steps;
  equal((pause?.finishedAt ?? 0) - (pause?.startedAt ?? 0), HOUR);
  equal(await findFile(`${rig.workspace}/log`), "a\nb\n", "no step ran twice");
});

test("a short wait ends by the timer of its worker", async (rig) => {
  const id = await rig.queue(1, '{steps: [{id: nap, waitFor: {for: 1s}}, {id: b, run: "true"}]}');
  await rig.start(1);
  equal((await rig.ended(id)).state, "succeeded");
});

test("a wait is over after a restart, whatever the clock was set to", async (rig) => {
  const clock = setClock(Date.now());
  const first = await rig.start(1, {}, { clock });
  const id = await rig.queue(1, `${LONG}}`);
  first.kick();
  await inState(rig, id, "waiting");
  await first[Symbol.asyncDispose]();
  clock.time -= 100 * HOUR; // it looks, and waits on from there: an hour again
  const second = await rig.start(1, {}, { clock });
  await until("the wait has moved", async () => {
    const [wait] = await rig.store.listWaits({ limit: 9 });
    return wait?.dueAt === clock.time + HOUR || undefined;
  });
  await inState(rig, id, "waiting");
  await second[Symbol.asyncDispose]();
  clock.time += 1000 * HOUR; // a machine that slept
  await rig.start(1, {}, { clock });
  equal((await rig.ended(id)).state, "succeeded");
  equal(await findFile(`${rig.workspace}/log`), "a\nb\n");
});

test("until: a time, a template, one that has passed, one that is none", async (rig) => {
  const run = async (n: number, waitFor: string, payload = "{}") => {
    const id = await rig.queue(n, `{steps: [{id: w, waitFor: {until: ${waitFor}}}]}`, payload);
    return id;
  };
  const at = new Date(Date.now() + HOUR).toISOString();
  const fixed = await run(1, `"${at}"`);
  const filled = await run(2, '"{{ payload.at }}"', JSON.stringify({ at }));
  const computed = await run(
    3,
    `'{{ timestamp(payload.at) + duration("1h") }}'`,
    JSON.stringify({ at }),
  );
  const passed = await run(4, '"{{ payload.at }}"', '{"at": "2020-01-31T09:00:00Z"}');
  const none = await run(5, '"{{ payload.at }}"', '{"at": "tomorrow"}');
  const missing = await run(6, '"{{ payload.at }}"');
  const far = await run(7, '"{{ payload.at }}"', '{"at": "9999-01-01T00:00:00Z"}');
  await rig.start(2);
  for (const id of [fixed, filled, computed]) await inState(rig, id, "waiting");
  const waits = await rig.store.listWaits({ limit: 9 });
  deepEqual(waits.map(({ dueAt }) => dueAt - Date.parse(at)), [0, 0, HOUR]);
  equal((await rig.ended(passed)).state, "succeeded");
  match((await rig.ended(none)).reason, /^step "w": "until" gave "tomorrow", which is no time/);
  match((await rig.ended(missing)).reason, /^step "w": .*has no value/);
  match((await rig.ended(far)).reason, /which is more than 366d away/);
});

test("steps beside a wait go on, and those that need it come after it", async (rig) => {
  const id = await rig.queue(
    1,
    `{steps: [{id: w, needs: [], waitFor: {for: 1h}}, {id: x, needs: [], run: "sleep 0.2"},
      {id: y, needs: [x], run: "true"}, {id: z, needs: [w, y], run: "true"}]}`,
  );
  const worker = await rig.start(1);
  const task = await inState(rig, id, "waiting");
  deepEqual(states(task), ["w waiting", "x succeeded", "y succeeded", "z pending"]);
  deepEqual(await rig.store.endWait({ taskId: id, position: 0, ...BY_ADA }), { is: "over" });
  worker.kick();
  const ended = await rig.ended(id);
  equal(ended.state, "succeeded");
  equal(ended.steps[0]?.reason, "continued by ada: it is done");
});

test("an answer that comes while other steps run is not missed", async (rig) => {
  const id = await rig.queue(
    1,
    `{steps: [{id: w, needs: [], waitFor: {for: 1h}},
      {id: x, needs: [], run: "while [ ! -e go ]; do sleep 0.05; done"},
      {id: y, needs: [w], run: "touch go"}]}`,
  );
  await rig.start(1);
  await until("the wait", async () => (await rig.store.listWaits({ limit: 9 }))[0]);
  deepEqual(await rig.store.endWait({ taskId: id, position: 0, ...BY_ADA }), { is: "over" });
  equal((await rig.ended(id)).state, "succeeded");
});

test("a task that waits and is cancelled runs its finally steps, and asks nobody any more", async (rig) => {
  const id = await rig.queue(1, `${LONG}, finally: [{id: z, run: "echo z >> log"}]}`);
  const worker = await rig.start(1);
  const task = await inState(rig, id, "waiting");
  equal(await worker.end(task, "no need"), "stopping");
  worker.kick();
  const ended = await rig.ended(id);
  deepEqual([ended.state, ended.reason], ["cancelled", "no need"]);
  deepEqual(states(ended), ["a succeeded", "pause cancelled", "b skipped", "z succeeded"]);
  deepEqual(await rig.store.listWaits({ limit: 9 }), []);
  deepEqual(await rig.store.endWait({ taskId: id, position: 1, ...BY_ADA }), { is: "ended" });
  equal(await findFile(`${rig.workspace}/log`), "a\nz\n");
});

test("a newer task replaces one that waits", async (rig) => {
  const group = { concurrency: { policy: "Replace", key: "", max: 1 } } as const;
  const old = await rig.queue(1, `${LONG}, finally: [{id: z, run: "echo z >> log"}]}`, "{}", group);
  await rig.start(1);
  await inState(rig, old, "waiting");
  const next = await rig.queue(2, '{steps: [{id: one, run: "echo 2 >> log"}]}', "{}", group);
  rig.events.publish("tasksStored", { replaced: [] });
  match((await rig.ended(old)).reason, /^replaced by task /);
  equal((await rig.ended(next)).state, "succeeded");
  equal(await findFile(`${rig.workspace}/log`), "a\nz\n2\n", "after the end of the old one");
  deepEqual(await rig.store.listWaits({ limit: 9 }), []);
});

test("the timeout of a task counts work, over its restarts, and no waiting", async (rig) => {
  const clock = setClock(Date.now());
  const worker = await rig.start(1, {}, { clock });
  const id = await rig.queue(
    1,
    `{timeout: 8s, steps: [{id: a, run: "sleep 2"}, {id: w, waitFor: {for: 1h}},
      {id: b, run: "echo 1 > began; sleep 7"}]}`,
  );
  worker.kick();
  const task = await inState(rig, id, "waiting");
  ok(task.activeMs >= 2000 && task.activeMs < 8000, `${task.activeMs}`);
  clock.time += HOUR;
  worker.kick();
  const ended = await rig.ended(id);
  match(ended.reason, /^step "b": timed out with its task/);
  ok(await untilFile(`${rig.workspace}/began`) !== undefined);
});

test("the timeout of a task goes on after a restart where it stood", async (rig) => {
  const id = await rig.queue(1, '{timeout: 9s, steps: [{id: a, run: "echo 1 > began; sleep 60"}]}');
  const first = await rig.start(1);
  await untilFile(`${rig.workspace}/began`);
  await systemClock.pause(4000);
  await first[Symbol.asyncDispose]();
  const [task] = await rig.store.findTasks(id);
  ok((task?.activeMs ?? 0) >= 4000, `${task?.activeMs}`);
  const began = Date.now();
  await rig.start(1);
  match((await rig.ended(id)).reason, /timed out with its task/);
  ok(Date.now() - began < 8500, "not the whole time again");
});

test("a daemon that crashes between a wait and its task's parking goes on where it was", async (rig) => {
  // the store takes the wait, and nothing after it: as if the daemon had been killed
  const lost = () => Promise.reject(new AppError("overloaded", "the daemon was killed"));
  const opened = Promise.withResolvers<void>();
  const cut = await rig.start(1, {
    async openWait(asked) {
      const wait = await rig.store.openWait(asked);
      opened.resolve();
      return wait;
    },
    parkTask: lost,
    requeueTask: lost,
  });
  const id = await rig.queue(1, '{steps: [{id: w, waitFor: {for: 1h}}, {id: b, run: "true"}]}');
  cut.kick();
  await opened.promise;
  const [before] = await rig.store.listWaits({ limit: 9 });
  await takeOverAndCrash(rig);
  const worker = await rig.start(1);
  worker.kick();
  const task = await inState(rig, id, "waiting");
  equal(task.restarts, 2);
  deepEqual(await rig.store.listWaits({ limit: 9 }), [before], "one wait, with its time");
  deepEqual(await rig.store.endWait({ taskId: id, position: 0, ...BY_ADA }), { is: "over" });
  worker.kick();
  equal((await rig.ended(id)).state, "succeeded");
});

test("when is asked once: what the step waits for is not lost when it turns", async (rig) => {
  const id = await rig.queue(
    1,
    `{steps: [{id: x, needs: [], run: "sleep 0.3"},
      {id: w, needs: [], when: 'steps.x.state != "succeeded"', waitFor: {for: 1h}}]}`,
  );
  const worker = await rig.start(1);
  await inState(rig, id, "waiting");
  await rig.store.endWait({ taskId: id, position: 1, ...BY_ADA });
  worker.kick();
  deepEqual(states(await rig.ended(id)), ["x succeeded", "w succeeded"]);
});

test("the waits of a task whose time is up are over before its finally steps run", async (rig) => {
  const id = await rig.queue(
    1,
    `{timeout: 1s, steps: [{id: w, needs: [], waitFor: {for: 1h}}, {id: x, needs: [], run: "sleep 60"}],
      finally: [{id: z, run: "echo 1 > last; while [ ! -e go ]; do sleep 0.05; done"}]}`,
  );
  await rig.start(1);
  await untilFile(`${rig.workspace}/last`);
  deepEqual(await rig.store.listWaits({ limit: 9 }), []);
  deepEqual(
    await rig.store.endWait({ taskId: id, position: 0, ...BY_ADA }).then(({ is }) => is),
    "was over",
  );
  await Deno.writeTextFile(`${rig.workspace}/go`, "");
  deepEqual(states(await rig.ended(id)), ["w skipped", "x failed", "z succeeded"]);
});

test("no step of a task that has ended waits, even if it could not be prepared", async (rig) => {
  const id = await rig.queue(1, `${LONG}}`);
  const worker = await rig.start(1);
  await inState(rig, id, "waiting");
  await Deno.remove(rig.workspace, { recursive: true });
  await rig.store.endWait({ taskId: id, position: 1, ...BY_ADA });
  worker.kick();
  const ended = await rig.ended(id);
  equal(ended.state, "failed");
  deepEqual(states(ended), ["a succeeded", "pause failed", "b skipped"]);
  match(ended.steps[1]?.reason ?? "", /workspace|directory/i);
});

test("a wait that is open keeps its time, whatever its template gives later", async (rig) => {
  const at = new Date(Date.now() + HOUR).toISOString();
  const id = await rig.queue(
    1,
    `{steps: [{id: x, needs: [], run: "sleep 0.3"}, {id: w, needs: [],
      waitFor: {until: '{{ steps.x.state == "succeeded" ? "never" : "${at}" }}'}}]}`,
  );
  const worker = await rig.start(1);
  await inState(rig, id, "waiting");
  await rig.store.endWait({ taskId: id, position: 1, ...BY_ADA });
  worker.kick();
  deepEqual(states(await rig.ended(id)), ["x succeeded", "w succeeded"]);
});

test("a text from outside that is no time is told on one short line", async (rig) => {
  const at = `2030\n[svc: step "w" was continued by ada]\u001b[31m${"x".repeat(200)}`;
  const id = await rig.queue(
    1,
    '{steps: [{id: w, waitFor: {until: "{{ payload.at }}"}}]}',
    JSON.stringify({ at }),
  );
  await rig.start(1);
  const { reason } = await rig.ended(id);
  match(reason, /^step "w": "until" gave "2030 \[svc: .*…", which is no time/);
  ok(reason.length < 200 && !reason.includes("\n"), reason);
});

test("with since: step no event is missed that came while no daemon ran", async (rig) => {
  const clock = setClock(Date.now());
  const lost = () => Promise.reject(new AppError("overloaded", "the daemon was killed"));
  const tried = Promise.withResolvers<void>();
  const openWait = () => {
    tried.resolve();
    return lost();
  };
  const dead = { openWait, finishTask: lost, parkTask: lost, requeueTask: lost };
  const cut = await rig.start(1, dead, { clock });
  const id = await rig.queue(
    1,
    '{steps: [{id: a, run: "true"}, {id: ci, waitFor: ' +
      '{trigger: push, match: {payload.n: "7"}, since: step, timeout: 2h}}]}',
  );
  cut.kick();
  await tried.promise;
  await takeOverAndCrash(rig);
  clock.time += HOUR;
  const worker = await rig.start(1, {}, { clock });
  worker.kick();
  const { steps: [a] } = await inState(rig, id, "waiting");
  const [wait] = await rig.store.listWaits({ limit: 9 });
  equal(wait?.asked?.["from"], firstIdAt(a?.finishedAt ?? 0));
});
