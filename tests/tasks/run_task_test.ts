/**
 * Control flow of a task, with real processes: needs, conditions, attempts, timeouts,
 * outputs, `finally`, cancelling and stopping.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { ProcessGroups } from "../../src/shell/process_groups.ts";
import type { ClaimedTask } from "../../src/store/task_records.ts";
import type { RunHost, TaskResult } from "../../src/tasks/run/task_context.ts";
import { processRuns, until, untilFile } from "../helpers/until.ts";
import { type RunRig, runRig, stepsOf } from "../rigs/run_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

function test(name: string, body: (rig: RunRig) => Promise<void>, skip?: string): void {
  Deno.test(skippable(name, skip), async () => {
    await using rig = await runRig();
    await body(rig);
  });
}

function slow(name: string, body: (rig: RunRig) => Promise<void>): void {
  test(name, body, NOT_SLOW);
}

/** Lines of a file of the workspace. */
async function lines(rig: RunRig, name: string): Promise<string[]> {
  return (await Deno.readTextFile(`${rig.workspace}/${name}`)).trimEnd().split("\n");
}

test("independent steps run side by side, and a step that needs both waits for both", async (rig) => {
  const meet = (mine: string, other: string) =>
    `': > ${mine}; i=0; while [ ! -e ${other} ] && [ $i -lt 1200 ]; do sleep 0.05; i=$((i+1)); done; [ -e ${other} ]'`;
  const { state, reason, task } = await rig.all(`
  steps:
    - {id: a, run: ${meet("a", "b")}}
    - {id: b, needs: [], run: ${meet("b", "a")}}
    - {id: c, needs: [a, b], run: "ls > seen"}`);
  deepEqual([state, reason], ["succeeded", ""]);
  deepEqual(await lines(rig, "seen"), ["a", "b", "seen"]);
  deepEqual(stepsOf(task.steps), ["a succeeded", "b succeeded", "c succeeded"]);
});

test("forty steps that need nothing all run, at most sixteen at once", async (rig) => {
  // The first sixteen wait for each other.
  const meet = 'until [ "$(grep -c + log)" -ge 16 ]; do sleep 0.02; done';
  const run = `echo + >> log; ${meet}; echo - >> log`;
  const steps = Array.from({ length: 40 }, (_, n) => `{id: s${n}, needs: [], run: '${run}'}`);
  const { state, task } = await rig.all(`{steps: [${steps.join(", ")}]}`);
  equal(state, "succeeded");
  ok(task.steps.every((step) => step.state === "succeeded"));
  let [now, most] = [0, 0];
  for (const sign of await lines(rig, "log")) {
    now += sign === "+" ? 1 : -1;
    most = Math.max(most, now);
  }
  equal(most, 16);
});

test("a failure skips the steps that need it, other branches finish, and the task names it", async (rig) => {
  const { state, reason, task } = await rig.all(`
  steps:
    - {id: a, run: exit 3}
    - {id: b, run: touch b}
    - {id: c, run: touch c}
    - {id: d, needs: [], run: sleep 0.3; touch d}
    - {id: e, run: touch e}`);
  deepEqual([state, reason], ["failed", 'step "a": exit code 3']);
  deepEqual(stepsOf(task.steps), [
    "a failed: exit code 3",
    'b skipped: needs "a", which failed',
    'c skipped: needs "b", which was skipped',
    "d succeeded",
    "e succeeded",
  ]);
  deepEqual([...Deno.readDirSync(rig.workspace)].map(({ name }) => name).toSorted(), ["d", "e"]);
});

test("continueOnError: the next step runs and sees what happened, and the task succeeds", async (rig) => {
  const { state, task } = await rig.all(`
  steps:
    - {id: a, run: echo why=broken >> $SVC_OUTPUT; exit 9, continueOnError: true}
    - id: b
      when: steps.a.state == "failed" && steps.a.exit_code == 9
      env: {WHY: "{{ steps.a.outputs.why }}"}
      run: echo "$WHY"`);
  equal(state, "succeeded");
  deepEqual(stepsOf(task.steps), ["a failed: exit code 9", "b succeeded"]);
  equal(await rig.printed(task.id, "b"), "broken\n");
});

test("when: only true runs a step, its reason is kept, and the steps that need it run", async (rig) => {
  const { state, task } = await rig.all(
    `
  steps:
    - {id: yes, when: payload.n == 7, run: "true"}
    - {id: no, when: payload.n == 8, run: touch no}
    - {id: gone, when: payload.nothing == 8, run: touch gone}
    - {id: text, when: payload.text, run: touch text}
    - {id: last, run: "true"}`,
    { payload: '{"n":7,"text":"true"}' },
  );
  equal(state, "succeeded");
  const [yes, no, gone, text, last] = stepsOf(task.steps);
  deepEqual([yes, no, text, last], [
    "yes succeeded",
    "no skipped: its condition is false",
    "text skipped: its condition gave a text, neither true nor false",
    "last succeeded",
  ]);
  match(gone ?? "", /^gone skipped: its condition failed: /);
  deepEqual([...Deno.readDirSync(rig.workspace)], []);
});

test("outputs: the last line of a key counts, values are exact, and later steps see them", async (rig) => {
  const { state, task } = await rig.all(`
  steps:
    - id: a
      run: |
        echo first=1 >> "$SVC_OUTPUT"
        printf 'first=two words = yes\\nempty=\\n\\nno line\\n9=x\\nlast= end ' >> "$SVC_OUTPUT"
    - id: b
      env: {FIRST: "{{ steps.a.outputs.first }}", ALL: "{{ steps.a.outputs }}"}
      run: printf '%s|%s' "$FIRST" "$ALL"`);
  equal(state, "succeeded");
  const outputs = { first: "two words = yes", empty: "", last: " end " };
  deepEqual(task.steps[0]?.outputs, outputs);
  equal(task.steps[1]?.outputs, undefined);
  equal(await rig.printed(task.id, "b"), `two words = yes|${JSON.stringify(outputs)}`);
  equal(
    await rig.printed(task.id, "a", "svc"),
    '[svc: line 5 of $SVC_OUTPUT is not "key=value" and is ignored]\n' +
      '[svc: line 6 of $SVC_OUTPUT is not "key=value" and is ignored]\n',
  );
});

test("retry: a step runs again after a pause until it succeeds, with a fresh $SVC_OUTPUT", async (rig) => {
  const { state, task } = await rig.all(`
  steps:
    - id: a
      retry: {attempts: 4, backoffSecs: 1}
      run: |
        echo "$SVC_ATTEMPT $(wc -c < "$SVC_OUTPUT") $(date +%s%N)" >> log
        echo try=$SVC_ATTEMPT >> "$SVC_OUTPUT"
        [ "$SVC_ATTEMPT" -ge 3 ]`);
  equal(state, "succeeded");
  const [step] = task.steps;
  deepEqual([step?.attempt, step?.outputs, step?.exitCode], [3, { try: "3" }, 0]);
  const log = (await lines(rig, "log")).map((line) => line.split(" "));
  deepEqual(log.map(([attempt, size]) => [attempt, size]), [["1", "0"], ["2", "0"], ["3", "0"]]);
  const [one = 0, two = 0, three = 0] = log.map(([, , at]) => Number(at) / 1e6);
  ok(two - one >= 1000 && two - one < three - two, `first pause ${two - one}`);
  ok(three - two >= 2000, `second pause ${three - two}`);
  equal(
    await rig.printed(task.id, "a", "svc"),
    "[svc: attempt 1 of 4: exit code 1, the next one in 1 s]\n" +
      "[svc: attempt 2 of 4: exit code 1, the next one in 2 s]\n",
  );
});

test("retry: a step that never succeeds has failed, and says after how many attempts", async (rig) => {
  const { state, reason, task } = await rig.all(
    `{steps: [{id: a, retry: {attempts: 3, backoffSecs: 0}, run: echo x >> log; exit 2}]}`,
  );
  deepEqual([state, reason], ["failed", 'step "a": exit code 2, after 3 attempts']);
  deepEqual(await lines(rig, "log"), ["x", "x", "x"]);
  deepEqual([task.steps[0]?.attempt, task.steps[0]?.exitCode], [3, 2]);
  equal(
    await rig.printed(task.id, "a", "svc"),
    "[svc: attempt 1 of 3: exit code 2, the next one in 0 s]\n" +
      "[svc: attempt 2 of 3: exit code 2, the next one in 0 s]\n" +
      '[svc: step "a" failed: exit code 2, after 3 attempts]\n',
  );
});

slow("a timeout holds for each try of a step", async (rig) => {
  const { state, reason } = await rig.all(
    `{steps: [{id: a, timeout: 4, retry: {attempts: 2, backoffSecs: 0}, run: 'echo x >> log; [ $SVC_ATTEMPT = 2 ] || exec sleep 60'}]}`,
  );
  deepEqual([state, reason], ["succeeded", ""]);
  deepEqual(await lines(rig, "log"), ["x", "x"]);
});

slow("a timeout of one step leaves the steps beside it alone", async (rig) => {
  const { task } = await rig.all(`
  steps:
    - {id: a, timeout: 3, run: "setsid sleep 600 & echo $! > pid; wait"}
    - {id: b, needs: [], run: "setsid sh -c 'sleep 5; echo done > b' & wait $!; cat b"}`);
  deepEqual(stepsOf(task.steps), [
    "a failed: timed out after 3s, the step's timeout",
    "b succeeded",
  ]);
  equal(await rig.printed(task.id, "b"), "done\n");
  equal(await processRuns(Number(await untilFile(`${rig.workspace}/pid`))), false);
});

test("the timeout of a task ends running steps, skips the rest, and finally runs", async (rig) => {
  const { state, reason, task } = await rig.all(`
  timeout: 4
  steps:
    - {id: a, run: exec sleep 600}
    - {id: b, run: touch b}
    - {id: c, needs: [], run: sleep 0.1}
    - {id: d, needs: [c], retry: {attempts: 5, backoffSecs: 60}, run: exit 4}
  finally:
    - {id: z, env: {HOW: "{{ task.state }} {{ steps.a.state }}"}, run: echo "$HOW"}`);
  equal(state, "failed");
  match(reason, /^step "[ad]": timed out with its task, whose timeout is 4s$/);
  deepEqual(stepsOf(task.steps), [
    "a failed: timed out with its task, whose timeout is 4s",
    "b skipped: the task timed out",
    "c succeeded",
    "d failed: timed out with its task, whose timeout is 4s",
    "z succeeded",
  ]);
  equal(await rig.printed(task.id, "z"), "failed failed\n");
  deepEqual([...Deno.readDirSync(rig.workspace)], []);
});

slow("the daemon's limits end what no manifest limits", async (rig) => {
  const host = { ...rig.host, timeLimits: { step: "1s", task: "3s" } };
  const hung = await rig.claim(`
  steps:
    - {id: a, run: exec sleep 600, continueOnError: true}
    - {id: b, needs: [], run: exec sleep 600, timeout: 2}`);
  equal((await rig.run(hung, {}, host)).state, "failed");
  deepEqual(stepsOf((await rig.task(hung.task.id)).steps), [
    "a failed: timed out after 1s, the daemon's step-timeout",
    "b failed: timed out after 2s, the step's timeout",
  ]);
  const slow = await rig.claim(`{steps: [{id: a, run: exec sleep 600}]}`);
  const { reason } = await rig.run(slow, {}, { ...host, timeLimits: { task: "1s" } });
  equal(
    reason,
    'step "a": timed out with its task, which may take 1s, the daemon\'s task-timeout',
  );
});

test("a task whose only failure continues on error has still failed when it ran out of time", async (rig) => {
  const { state, reason } = await rig.all(`
  timeout: 1
  steps:
    - {id: a, run: exec sleep 60, continueOnError: true}
    - {id: b, run: touch b}`);
  deepEqual([state, reason], ["failed", "the task timed out"]);
});

test("finally: every step runs, in order, whatever failed before", async (rig) => {
  const { state, reason, task } = await rig.all(`
  steps:
    - {id: a, run: exit 1}
  finally:
    - {id: x, run: echo x >> log; exit 5}
    - {id: skipped, when: task.state == "succeeded", run: echo skipped >> log}
    - {id: y, when: task.state == "failed", env: {X: "{{ steps.x.exit_code }}"}, run: echo "y $X" >> log}`);
  deepEqual([state, reason], ["failed", 'step "a": exit code 1']);
  deepEqual(await lines(rig, "log"), ["x", "y 5"]);
  deepEqual(stepsOf(task.steps), [
    "a failed: exit code 1",
    "x failed: exit code 5",
    "skipped skipped: its condition is false",
    "y succeeded",
  ]);
});

test("finally: one that fails fails the task, unless it continues on error", async (rig) => {
  const one = await rig.all('{steps: [{id: a, run: "true"}], finally: [{id: z, run: exit 6}]}');
  deepEqual([one.state, one.reason], ["failed", 'step "z": exit code 6']);
  const two = await rig.all(
    '{steps: [{id: a, run: "true"}], finally: [{id: z, run: exit 6, continueOnError: true}]}',
  );
  deepEqual([two.state, two.reason], ["succeeded", ""]);
});

/** Aborts as soon as a file of the workspace is there. */
function abortAt(rig: RunRig, name: string): AbortSignal {
  const controller = new AbortController();
  untilFile(`${rig.workspace}/${name}`).then(() => controller.abort());
  return controller.signal;
}

test("cancel: running steps get TERM, with everything they started, and finally runs", async (rig) => {
  const claimed = await rig.claim(`
  steps:
    - {id: a, run: "trap 'echo tidy >> log; exit 0' TERM; setsid sleep 60 & echo $! > pid; while :; do sleep 0.05; done"}
    - {id: b, run: touch b}
    - {id: c, needs: [], retry: {attempts: 3, backoffSecs: 60}, run: exit 1}
  finally:
    - {id: z, env: {HOW: "{{ task.state }}"}, run: echo "z $HOW" >> log}`);
  const result = await rig.run(claimed, { cancel: abortAt(rig, "pid") });
  deepEqual([result.state, result.reason], ["cancelled", ""]);
  deepEqual(await lines(rig, "log"), ["tidy", "z cancelled"]);
  equal(await processRuns(Number(await untilFile(`${rig.workspace}/pid`))), false);
  const { steps } = await rig.task(claimed.task.id);
  deepEqual(stepsOf(steps), [
    "a cancelled: cancelled",
    "b pending",
    "c cancelled: cancelled",
    "z succeeded",
  ]);
});

/** Runs a task that is ended in the moment in which the process of its first try is just over. */
async function runEndedAfterTry(
  rig: RunRig,
  claimed: ClaimedTask,
  why: "stop" | "cancel",
): Promise<TaskResult> {
  const end = new AbortController();
  const endLeft: ProcessGroups["endLeft"] = (group) => {
    end.abort();
    return rig.host.groups.endLeft(group);
  };
  const groups = { ...rig.host.groups, endLeft };
  return await rig.run(claimed, { [why]: end.signal }, { ...rig.host, groups });
}

const FAILS_ONCE =
  `{steps: [{id: a, retry: {attempts: 2, backoffSecs: 0}, run: 'echo "$SVC_ATTEMPT" >> log; [ "$SVC_ATTEMPT" = 2 ]'}]}`;

test("cancel: a step between two attempts is cancelled", async (rig) => {
  const claimed = await rig.claim(FAILS_ONCE);
  equal((await runEndedAfterTry(rig, claimed, "cancel")).state, "cancelled");
  const [step] = (await rig.task(claimed.task.id)).steps;
  deepEqual([step?.state, step?.reason, step?.exitCode], ["cancelled", "cancelled", 1]);
  deepEqual(await lines(rig, "log"), ["1"]);
});

test("stop: a step between two attempts runs again later", async (rig) => {
  const claimed = await rig.claim(FAILS_ONCE);
  const { id } = claimed.task;
  equal((await runEndedAfterTry(rig, claimed, "stop")).state, "interrupted");
  await rig.store.requeueTask(id, { now: 5 });
  equal((await rig.run(await rig.reclaim(id))).state, "succeeded");
  deepEqual(await lines(rig, "log"), ["1", "2"]);
});

slow("cancel: a step that ignores TERM is killed after its grace", async (rig) => {
  const claimed = await rig.claim(
    `{steps: [{id: a, run: 'trap "" TERM INT HUP; echo $$ > pid; while :; do sleep 0.05; done'}]}`,
  );
  const start = performance.now();
  const { state } = await rig.run(claimed, { cancel: abortAt(rig, "pid") });
  equal(state, "cancelled");
  const ms = performance.now() - start;
  ok(ms > 4500, `${ms}`);
  equal(await processRuns(Number(await untilFile(`${rig.workspace}/pid`))), false);
});

test("cancel: a task that was cancelled before it started runs nothing but its finally", async (rig) => {
  const claimed = await rig.claim(
    "{steps: [{id: a, run: touch a}], finally: [{id: z, run: touch z}]}",
  );
  const { state } = await rig.run(claimed, { cancel: AbortSignal.abort() });
  equal(state, "cancelled");
  deepEqual([...Deno.readDirSync(rig.workspace)].map(({ name }) => name), ["z"]);
});

test("cancel: one that comes while finally runs changes nothing", async (rig) => {
  const claimed = await rig.claim(
    '{steps: [{id: a, run: "true"}], finally: [{id: z, run: ": > begun; echo > begun; sleep 0.5; touch z"}]}',
  );
  const { state, reason } = await rig.run(claimed, { cancel: abortAt(rig, "begun") });
  equal(reason, "");
  equal(state, "succeeded");
  ok((await Deno.stat(`${rig.workspace}/z`)).isFile);
});

test("stop: a running step is put back, and continues later with the same attempt", async (rig) => {
  const claimed = await rig.claim(`
  steps:
    - {id: a, run: echo a >> log}
    - id: b
      retry: {attempts: 3, backoffSecs: 0}
      run: |
        echo "b $SVC_ATTEMPT" >> log
        [ "$SVC_ATTEMPT" = 1 ] && exit 1
        [ -e go ] && exit 0
        echo > waiting
        exec sleep 60
    - {id: c, run: echo c >> log}
  finally:
    - {id: z, run: echo z >> log}`);
  const { id } = claimed.task;
  const first = await rig.run(claimed, { stop: abortAt(rig, "waiting") });
  deepEqual(first, { state: "interrupted", reason: "" });
  deepEqual(stepsOf((await rig.task(id)).steps), [
    "a succeeded",
    "b pending: interrupted",
    "c pending",
    "z pending",
  ]);
  await rig.store.requeueTask(id, { now: 5 });
  await Deno.writeTextFile(`${rig.workspace}/go`, "");
  const second = await rig.run(await rig.reclaim(id));
  deepEqual([second.state, second.reason], ["succeeded", ""]);
  deepEqual(await lines(rig, "log"), ["a", "b 1", "b 2", "b 2", "c", "z"]);
});

test("stop: during finally, its finished steps are kept and the rest goes on later", async (rig) => {
  const claimed = await rig.claim(`
  steps:
    - {id: a, run: echo a >> log; exit 1}
  finally:
    - {id: x, run: echo x >> log}
    - {id: y, run: "echo y >> log; [ -e go ] && exit 0; echo > waiting; exec sleep 60"}
    - {id: z, run: echo z >> log}`);
  const { id } = claimed.task;
  const first = await rig.run(claimed, { stop: abortAt(rig, "waiting") });
  equal(first.state, "interrupted");
  await rig.store.requeueTask(id, { now: 5 });
  await Deno.writeTextFile(`${rig.workspace}/go`, "");
  const second = await rig.run(await rig.reclaim(id));
  deepEqual([second.state, second.reason], ["failed", 'step "a": exit code 1']);
  deepEqual(await lines(rig, "log"), ["a", "x", "y", "y", "z"]);
});

test("stop: a cancelled task that is stopped in its finally is still cancelled afterwards", async (rig) => {
  const claimed = await rig.claim(`
  steps:
    - {id: a, run: echo > begun; exec sleep 60}
    - {id: b, run: touch b}
  finally:
    - {id: z, run: "[ -e go ] && exit 0; echo > waiting; exec sleep 60"}`);
  const { id } = claimed.task;
  const first = await rig.run(claimed, {
    cancel: abortAt(rig, "begun"),
    stop: abortAt(rig, "waiting"),
  });
  equal(first.state, "interrupted");
  await rig.store.requeueTask(id, { now: 5 });
  await Deno.writeTextFile(`${rig.workspace}/go`, "");
  const second = await rig.run(await rig.reclaim(id), { cancel: AbortSignal.abort() });
  equal(second.state, "cancelled");
  deepEqual(stepsOf((await rig.task(id)).steps), [
    "a cancelled: cancelled",
    "b pending",
    "z succeeded",
  ]);
});

test("a task whose steps are all over when it is taken up again just ends", async (rig) => {
  const claimed = await rig.claim("{steps: [{id: a, run: touch a}]}");
  equal((await rig.run(claimed)).state, "succeeded");
  await Deno.remove(rig.workspace, { recursive: true });
  await rig.store.requeueTask(claimed.task.id, { now: 5 });
  const again = await rig.run(await rig.reclaim(claimed.task.id));
  deepEqual(again, { state: "succeeded", reason: "" });
});

test("a goal is filled in, and is a variable of CEL and of the shell", async (rig) => {
  const { state, reason, task } = await rig.all(
    `{steps: [{id: a, when: goal.startsWith("Mend"), env: {G: "<{{ goal }}>"}, run: 'echo "$G $SVC_GOAL"'}]}`,
    { goal: "Mend {{ payload.what }}", payload: '{"what":"$(id)"}' },
  );
  deepEqual([state, reason], ["succeeded", ""]);
  equal(await rig.printed(task.id), "<Mend $(id)> Mend $(id)\n");
});

test("a goal that has no value fails the task before anything runs", async (rig) => {
  const { state, reason } = await rig.all("{steps: [{id: a, run: touch a}]}", {
    goal: "Mend {{ payload.what }}",
  });
  equal(state, "failed");
  match(reason, /^The goal cannot be filled in: \{\{ payload\.what \}\} has no value/);
  deepEqual([...Deno.readDirSync(rig.workspace)], []);
});

test("a goal no variable can hold is left out of the environment, and steps run", async (rig) => {
  const { state, task } = await rig.all('{steps: [{id: a, run: "echo ${SVC_GOAL-none}"}]}', {
    goal: "{{ payload.what }}",
    payload: '{"what":"a\\u0000b"}',
  });
  equal(state, "succeeded");
  equal(await rig.printed(task.id), "none\n");
});

test("steps have an inbox: empty at first, and what is added meanwhile arrives in order", async (rig) => {
  const claimed = await rig.claim(
    `{steps: [{id: a, run: 'stat -c "%a %s" "$SVC_INBOX"; echo > begun; until [ "$(wc -l < "$SVC_INBOX")" = 3 ]; do sleep 0.05; done; cat "$SVC_INBOX"'}]}`,
  );
  const running = rig.run(claimed);
  await untilFile(`${rig.workspace}/begun`);
  const { inboxes } = rig.host;
  await Promise.all([1, 2, 3].map((n) => inboxes.add(claimed.task.id, { n })));
  equal((await running).state, "succeeded");
  equal(await rig.printed(claimed.task.id), '600 0\n{"n":1}\n{"n":2}\n{"n":3}\n');
});

test("a step that removes its files harms only itself", async (rig) => {
  const { state, reason, task } = await rig.all(`
  steps:
    - {id: a, run: 'rm -f "$SVC_OUTPUT" "$SVC_INBOX"; mkfifo "$SVC_OUTPUT" "$SVC_INBOX"'}
    - {id: b, run: 'rm -f "$SVC_OUTPUT"; mkdir "$SVC_OUTPUT"; rm -rf "$(dirname "$SVC_PAYLOAD_FILE")"/pay*'}
    - {id: c, run: 'rm -f "$SVC_OUTPUT"; ln -s /etc/passwd "$SVC_OUTPUT"; ln -s /tmp/never "$(dirname "$SVC_OUTPUT")/output.3"'}
    - {id: d, run: 'echo k=v >> "$SVC_OUTPUT"; rm -rf "$(dirname "$SVC_OUTPUT")"'}`);
  deepEqual([state, reason], ["succeeded", ""]);
  deepEqual(task.steps.map(({ outputs }) => outputs), [undefined, undefined, undefined, undefined]);
  match(
    await rig.printed(task.id, "a", "svc"),
    /SVC_OUTPUT cannot be read: it is no longer a file/,
  );
  deepEqual([...Deno.readDirSync(rig.dirs.run)], []);
});

test("a process that left the group of its step ends with the task, even if that succeeds at once", async (rig) => {
  const line = "setsid sleep 60 >/dev/null 2>&1 & echo $! > $SVC_STEP.pid";
  for (let run = 0; run < 4; run++) { // the first in shells of their own, the others in a pooled one
    const { state } = await rig.all(
      `{steps: [{id: a, run: '${line}'}, {id: b, run: ":"}], finally: [{id: z, run: '${line}'}]}`,
    );
    equal(state, "succeeded");
    const pids = [await lines(rig, "a.pid"), await lines(rig, "z.pid")].flat().map(Number);
    deepEqual(await Promise.all(pids.map(processRuns)), [false, false]);
  }
  const slow = await rig.all(`{steps: [{id: a, run: '${line}'}, {id: b, run: sleep 1.2}]}`);
  equal(slow.state, "succeeded");
  equal(await processRuns(Number(await lines(rig, "a.pid"))), false);
});

test("secrets in outputs are hidden before they are stored", async () => {
  await using rig = await runRig({ api: "s3cr3t-value" });
  const { task } = await rig.all(`
  steps:
    - id: a
      env: {KEY: {fromSecret: {store: tokens, key: api}}}
      run: echo "url=https://u:$KEY@host/" >> "$SVC_OUTPUT"; echo "$KEY"`);
  deepEqual(task.steps[0]?.outputs, { url: "https://u:***@host/" });
  equal(await rig.printed(task.id), "***\n");
});

test("a step that takes a moment is noted while it runs, and states never go back", async (rig) => {
  const saved: string[] = [];
  const { store } = rig.host;
  const host: RunHost = {
    ...rig.host,
    store: {
      ...store,
      saveStep(id, step) {
        saved.push(`${step.id} ${step.state}`);
        return store.saveStep(id, step);
      },
    },
  };
  const claimed = await rig.claim("{steps: [{id: a, run: sleep 0.5}, {id: b, run: exit 1}]}");
  Object.assign(rig, { host });
  await rig.run(claimed);
  // Whether b takes a moment is up to the machine.
  deepEqual(saved.filter((one) => one !== "b running"), ["a running", "a succeeded", "b failed"]);
  equal(saved.at(-1), "b failed");
  await until("the rows", async () => {
    const { steps } = await rig.task(claimed.task.id);
    return steps.map(({ state }) => state).join() === "succeeded,failed" ? true : undefined;
  });
});
