/**
 * Steps with `repeat`: their rounds, what a round sees of the one before, and crashes at each write.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import type { Store } from "../../src/store/store.ts";
import type { Task } from "../../src/store/task_records.ts";
import { findFile, until, untilFile } from "../helpers/until.ts";
import { type Rig, takeOverAndCrash, testWithRig as test } from "../rigs/worker_rig.ts";

const states = ({ steps }: Task) =>
  steps.map(({ id, state, round = 1 }) => `${id} ${state}${round === 1 ? "" : ` ${round}`}`);

/** A `repeat` called `build` with these steps. */
const repeat = (max: number, until: string, steps: string) =>
  `{id: build, repeat: {max: ${max}, until: '${until}', steps: [${steps}]}}`;

/** Counts its rounds in a file, and gives the number as output `n`. */
const COUNT = 'echo $SVC_ROUND >> log; echo "n=$(wc -l < log | tr -d " ")" >> $SVC_OUTPUT';

async function run(rig: Rig, workflow: string, n = 1): Promise<Task> {
  const worker = await rig.start(1);
  const id = await rig.queue(n, workflow);
  worker.kick();
  return await rig.ended(id);
}

test("a repeat runs its steps until its expression is true, and then the next step", async (rig) => {
  const task = await run(
    rig,
    `{steps: [{id: a, run: "echo a >> log0"},
      ${
      repeat(
        5,
        'steps.look.outputs.n == "3"',
        `{id: code, run: "true"}, {id: look, run: '${COUNT}'}`,
      )
    },
      {id: b, run: 'echo "$ROUNDS $N" > last', env: {ROUNDS: "{{ steps.build.rounds }}", N: "{{ steps.look.outputs.n }}"}}]}`,
  );
  deepEqual([task.state, task.reason], ["succeeded", ""]);
  deepEqual(states(task), [
    "a succeeded",
    "build succeeded 3",
    "code succeeded 3",
    "look succeeded 3",
    "b succeeded",
  ]);
  equal(await findFile(`${rig.workspace}/log`), "1\n2\n3\n");
  equal(await findFile(`${rig.workspace}/log0`), "a\n", "steps outside run once");
  equal(await findFile(`${rig.workspace}/last`), "3 3\n");
  const [, build, code] = task.steps;
  ok((build?.startedAt ?? Infinity) <= (code?.startedAt ?? 0), "it began with its first round");
});

test("a repeat runs max rounds and not one more, and then fails", async (rig) => {
  for (const [index, max] of [1, 2, 3].entries()) {
    const id = `n${max}`;
    const task = await run(
      rig,
      `{steps: [${
        repeat(max, "steps.build.rounds > 50", `{id: look, run: "echo x >> ${id}"}`)
      }, {id: b, run: "true"}]}`,
      index + 1,
    );
    equal(task.state, "failed");
    match(task.reason, /^step "build": "until" is false after (its only round|[23] rounds)$/);
    deepEqual(states(task).slice(2), ["b skipped"]);
    equal(await findFile(`${rig.workspace}/${id}`), "x\n".repeat(max));
  }
});

test("a round sees the outputs of the one before, until its own step has ended", async (rig) => {
  const task = await run(
    rig,
    `{steps: [${
      repeat(
        3,
        "steps.build.rounds == 3",
        `{id: code, run: 'echo "$TAIL/$OWN" >> log; echo "own=c$SVC_ROUND" >> $SVC_OUTPUT', env: {
            TAIL: "{{ default(steps.look.outputs.tail, \\"none\\") }}",
            OWN: "{{ default(steps.code.outputs.own, \\"none\\") }}"}},
         {id: look, run: 'echo "tail=t$SVC_ROUND" >> $SVC_OUTPUT'}`.replaceAll("\n", " "),
      )
    }]}`,
  );
  equal(task.state, "succeeded", task.reason);
  equal(await findFile(`${rig.workspace}/log`), "none/none\nt1/c1\nt2/c2\n");
});

test("an error in until fails the repeat, and a step that fails does", async (rig) => {
  const wrong = await run(
    rig,
    `{steps: [${repeat(3, 'steps.look.outputs.no == "x"', '{id: look, run: "echo x >> n"}')}]}`,
  );
  match(wrong.reason, /^step "build": round 1: "until" failed: /);
  const failing = await run(
    rig,
    `{steps: [${
      repeat(
        3,
        "steps.build.rounds == 5",
        '{id: c, run: "[ $SVC_ROUND = 1 ] || exit 3"}, {id: d, run: "echo $SVC_ROUND >> m"}',
      )
    },
      {id: e, run: "true"}], finally: [{id: z, run: "true"}]}`,
    2,
  );
  equal(failing.reason, 'step "build": round 2: step "c": exit code 3');
  deepEqual(states(failing), [
    "build failed 2",
    "c failed 2",
    "d skipped 2",
    "e skipped",
    "z succeeded",
  ]);
  equal(await findFile(`${rig.workspace}/m`), "1\n");
});

test("when of a repeat is asked once, when of its steps in each round", async (rig) => {
  const task = await run(
    rig,
    `{steps: [{id: build, when: 'steps.build.rounds == 0', repeat: {max: 3, until: "steps.build.rounds == 3", steps: [
        {id: c, when: "steps.build.rounds != 2", run: "echo $SVC_ROUND >> log"}]}},
      {id: none, when: "false || steps.build.rounds == 9", repeat: {max: 3, until: "steps.none.rounds > 0", steps: [{id: d, run: "true"}]}},
      {id: e, run: "true"}]}`,
  );
  equal(task.state, "succeeded");
  equal(await findFile(`${rig.workspace}/log`), "1\n3\n");
  deepEqual(states(task), [
    "build succeeded 3",
    "c succeeded 3",
    "none skipped",
    "d skipped",
    "e succeeded",
  ]);
});

test("continueOnError of a repeat lets the task go on, and attempts begin anew in each round", async (rig) => {
  const task = await run(
    rig,
    `{steps: [{id: build, continueOnError: true, repeat: {max: 2, until: "steps.build.rounds > 2", steps: [
        {id: c, retry: {attempts: 2, backoffSecs: 0}, run: 'echo $SVC_ROUND.$SVC_ATTEMPT >> log; [ $SVC_ATTEMPT = 2 ]'}]}},
      {id: e, run: "true"}]}`,
  );
  deepEqual([task.state, task.reason], ["succeeded", ""]);
  equal(await findFile(`${rig.workspace}/log`), "1.1\n1.2\n2.1\n2.2\n");
  deepEqual(states(task), ["build failed 2", "c succeeded 2", "e succeeded"]);
});

test("a wait inside a repeat parks the task in each round, and is a new one", async (rig) => {
  const id = await rig.queue(
    1,
    `{steps: [${
      repeat(
        3,
        "steps.build.rounds == 2",
        '{id: c, run: "echo $SVC_ROUND >> log"}, {id: w, waitFor: {for: 1h}}',
      )
    }]}`,
  );
  const worker = await rig.start(1);
  for (const round of [1, 2]) {
    const [wait] = await until(`the wait of round ${round}`, async () => {
      const waits = await rig.store.listWaits({ limit: 9 });
      const [task] = await rig.store.findTasks(id);
      return waits[0]?.round === round && task?.state === "waiting" ? waits : undefined;
    });
    deepEqual([wait?.step, wait?.position], ["w", 2]);
    equal(worker.load().running.length, 0, "no worker is held");
    const [task] = await rig.store.findTasks(id);
    equal(task?.steps[0]?.reason, `round ${round} of 3`);
    const by = { end: { by: "hand", who: "ada", reason: "go" }, now: 1 } as const;
    deepEqual(await rig.store.endWait({ taskId: id, position: 2, ...by }), { is: "over" });
    worker.kick();
  }
  const ended = await rig.ended(id);
  equal(ended.state, "succeeded");
  equal(await findFile(`${rig.workspace}/log`), "1\n2\n");
});

test("a task that is cancelled in a round leaves no step pending", async (rig) => {
  const id = await rig.queue(
    1,
    `{steps: [${
      repeat(
        3,
        "steps.build.rounds > 50",
        '{id: c, run: "[ $SVC_ROUND = 1 ] || { echo 1 > began; sleep 60; }"}, {id: d, run: "true"}',
      )
    }],
      finally: [{id: z, run: "true"}]}`,
  );
  const worker = await rig.start(1);
  await untilFile(`${rig.workspace}/began`);
  const [task] = await rig.store.findTasks(id);
  if (task === undefined) throw new Error("no task");
  await worker.end(task, "no need");
  const ended = await rig.ended(id);
  equal(ended.state, "cancelled");
  deepEqual(states(ended), ["build cancelled 2", "c cancelled 2", "d cancelled 2", "z succeeded"]);
});

test("a repeat whose task runs out of time is over with it", async (rig) => {
  const id = await rig.queue(
    1,
    `{timeout: 1s, steps: [${
      repeat(
        3,
        "steps.build.rounds > 50",
        '{id: c, run: "[ $SVC_ROUND = 1 ] || sleep 60"}, {id: d, run: "true"}',
      )
    }],
      finally: [{id: z, run: "true"}]}`,
  );
  await rig.start(1);
  const ended = await rig.ended(id);
  equal(ended.reason, "the task timed out");
  deepEqual(states(ended), ["build skipped 2", "c failed 2", "d skipped 2", "z succeeded"]);
});

// The store takes the writes up to one of them, and nothing after it: as if the daemon had been killed.
const CRASHES: readonly [
  what: string,
  method: "saveStep" | "beginRound",
  which: number,
  taken: boolean,
][] = [
  ["before the first round is stored", "beginRound", 1, false],
  ["when the first round is stored", "beginRound", 1, true],
  ["before the second round is stored", "beginRound", 2, false],
  ["when the second round is stored", "beginRound", 2, true],
  ["before the last round is stored", "beginRound", 3, false],
  ["when the last round is stored", "beginRound", 3, true],
  ...[1, 2, 3, 4, 5, 6].flatMap((which) =>
    [false, true].map((taken) =>
      [`${taken ? "after" : "before"} write ${which} of a step`, "saveStep", which, taken] as [
        string,
        "saveStep",
        number,
        boolean,
      ]
    )
  ),
];

for (const [what, method, which, taken] of CRASHES) {
  test(`a daemon that crashes ${what} goes on in that round`, async (rig) => {
    const lost = () => Promise.reject(new AppError("overloaded", "the daemon was killed"));
    const crashed = Promise.withResolvers<void>();
    let isDead = false;
    let seen = 0;
    const dying = (name: "saveStep" | "beginRound") => async (id: string, given: never) => {
      if (isDead) return await lost();
      if (name === method && ++seen === which) {
        isDead = true;
        if (taken) await rig.store[name](id, given);
        crashed.resolve();
        return await lost();
      }
      return await rig.store[name](id, given);
    };
    const unlessDead = <Name extends "finishTask" | "parkTask" | "requeueTask">(name: Name) =>
      ((...args: never) =>
        isDead ? lost() : (rig.store[name] as (...args: never) => unknown)(...args)) as Store[Name];
    const cut = await rig.start(1, {
      saveStep: dying("saveStep"),
      beginRound: dying("beginRound"),
      finishTask: unlessDead("finishTask"),
      parkTask: unlessDead("parkTask"),
      requeueTask: unlessDead("requeueTask"),
    });
    const id = await rig.queue(
      1,
      `{steps: [${
        repeat(
          3,
          'steps.look.outputs.r == "3"',
          '{id: c, run: "sleep 0.06; echo c$SVC_ROUND >> log"}, ' +
            '{id: look, run: "sleep 0.06; echo r=$SVC_ROUND >> $SVC_OUTPUT"}',
        )
      }, {id: e, run: "echo e >> log"}]}`,
    );
    cut.kick();
    await crashed.promise;
    await takeOverAndCrash(rig);
    const worker = await rig.start(1);
    worker.kick();
    const ended = await rig.ended(id);
    deepEqual([ended.state, ended.reason], ["succeeded", ""]);
    deepEqual(states(ended), [
      "build succeeded 3",
      "c succeeded 3",
      "look succeeded 3",
      "e succeeded",
    ]);
    // A step whose end was not stored runs again; no round is left out, and none comes twice in a row of others.
    const log = (await findFile(`${rig.workspace}/log`) ?? "").trim().split("\n");
    deepEqual(log.filter((line, at) => line !== log[at - 1]), ["c1", "c2", "c3", "e"]);
    ok(log.length <= 5, log.join());
  });
}
