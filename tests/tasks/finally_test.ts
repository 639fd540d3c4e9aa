/**
 * `finally` of tasks that failed, were cancelled, or never ran: it runs, and it can be written so
 * that it always ends well.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { until } from "../helpers/until.ts";
import { type RunRig, runRig, stepsOf } from "../rigs/run_rig.ts";

function test(name: string, body: (rig: RunRig) => Promise<void>): void {
  Deno.test(name, async () => {
    await using rig = await runRig();
    await body(rig);
  });
}

/** A step that tells all it knows. */
const TELL = `
    - id: tell
      env:
        STATE: "{{ task.state }}"
        REASON: "{{ task.reason }}"
        OUT: '{{ default(steps.a.outputs.url, "none") }}'
        ALSO: "{{ steps?.a.outputs.url }}"
        SIZE: "{{ size(steps) }}"
      run: echo "$STATE|$REASON|$OUT|$ALSO|$SIZE"`;

test("steps under finally read why the task failed, and values that are absent", async (rig) => {
  const { task, state } = await rig.all(`
  steps: [{id: a, run: exit 3}]
  finally:${TELL}`);
  equal(state, "failed");
  equal(await rig.printed(task.id), 'failed|step "a": exit code 3|none||2\n');
});

test("finally of a task that succeeded has no reason, and every output", async (rig) => {
  const { task, state } = await rig.all(`
  steps: [{id: a, run: echo url=u >> $SVC_OUTPUT}]
  finally:${TELL}`);
  equal(state, "succeeded");
  equal(await rig.printed(task.id), "succeeded||u|u|2\n");
});

test("a cancel tells finally its reason", async (rig) => {
  const claimed = await rig.claim(`
  steps: [{id: a, run: sleep 60}]
  finally:${TELL}`);
  const cancel = new AbortController();
  cancel.abort("cancelled by socket: wrong branch");
  const { state } = await rig.run(claimed, { cancel: cancel.signal });
  equal(state, "cancelled");
  equal(
    await rig.printed(claimed.task.id),
    "cancelled|cancelled by socket: wrong branch|none||2\n",
  );
});

const NEVER: readonly [what: string, workspace: string, goal: string | undefined, why: RegExp][] = [
  ["its directory is not there", "{path: gone}", undefined, /gone" does not exist/],
  ["it is no repository", "{path: repo, isolation: worktree}", undefined, /git/],
  ["its goal has no value", "{path: repo}", "{{ payload.gone }}", /^The goal cannot be filled in/],
];

for (const [what, workspace, goal, why] of NEVER) {
  test(`finally of a task that cannot run because ${what} runs in a directory of its own`, async (rig) => {
    const { task, state, reason } = await rig.all(
      `
  steps: [{id: a, run: touch ran}, {id: b, run: touch ran}]
  finally:${TELL}
    - {id: place, run: 'pwd; touch x; ls'}
    - {id: later, env: {SIZE: "{{ size(steps) }}"}, run: echo $SIZE}
    - {id: there, workdir: "${rig.workspace}", run: pwd}`,
      { workspace, ...defined({ goal }) },
    );
    equal(state, "failed");
    match(reason, why);
    const skipped = `skipped: the task could not run: ${reason}`;
    deepEqual(stepsOf(task.steps), [
      `a ${skipped}`,
      `b ${skipped}`,
      "tell succeeded",
      "place succeeded",
      "later succeeded",
      "there succeeded",
    ]);
    equal(await rig.printed(task.id, "tell"), `failed|${reason}|none||0\n`);
    match(await rig.printed(task.id, "place"), /^\/.*\/run\/.*\/scratch\nx\n$/);
    equal(await rig.printed(task.id, "later"), "2\n");
    equal(await rig.printed(task.id, "there"), `${rig.workspace}\n`);
    deepEqual([...Deno.readDirSync(rig.workspace)], []);
  });
}

test("a task that could not run stays so after a restart, even if it could run by then", async (rig) => {
  const claimed = await rig.claim(
    `
  steps: [{id: a, run: touch ran}]
  finally: [{id: f, run: "while [ ! -e ${rig.workspace}/go ]; do sleep 0.05; done"}]`,
    { workspace: "{path: late}" },
  );
  const stop = new AbortController();
  const first = rig.run(claimed, { stop: stop.signal });
  await until("finally to run", async () => {
    const { steps } = await rig.task(claimed.task.id);
    return steps[1]?.state === "running" ? true : undefined;
  });
  stop.abort();
  equal((await first).state, "interrupted");
  await Deno.mkdir(`${rig.dirs.root}/late`);
  await Deno.writeTextFile(`${rig.workspace}/go`, "");
  await rig.store.requeueTask(claimed.task.id, { now: 5 });
  const { state, reason } = await rig.run(await rig.reclaim(claimed.task.id));
  equal(state, "failed");
  match(reason, /late" does not exist/);
  deepEqual([...Deno.readDirSync(`${rig.dirs.root}/late`)], []);
});

test("an attempt that cannot start is not made again", async (rig) => {
  const { task, reason } = await rig.all(`
  steps:
    - {id: a, retry: {attempts: 5, backoffSecs: 3600}, env: {X: "{{ payload.gone }}"}, run: echo}`);
  equal(reason, 'step "a": {{ payload.gone }} has no value: field not found: gone');
  equal(task.steps[0]?.attempt, undefined);
});

test("stdout is an output of the step, and in its log", async (rig) => {
  const verdict = `{"result": "approve: it's fine", "n": [1, 2]}`;
  const { task, state, reason } = await rig.all(
    `
  steps:
    - {id: judge, agent: judge, prompt: look, stdout: answer}
    - id: act
      when: fromJson(steps.judge.outputs.answer).result.startsWith("approve")
      env: {N: "{{ fromJson(steps.judge.outputs.answer).n[1] }}"}
      run: echo "$N"
    - {id: lines, run: 'printf "a\\nb\\n\\n"; echo err >&2; echo k=v >> $SVC_OUTPUT', stdout: all}
    - {id: show, env: {ALL: "{{ steps.lines.outputs }}"}, run: printf %s "$ALL"}`,
    {
      more: `kind: Agent\nmetadata: {name: judge}\nspec: {command: ${
        JSON.stringify(`cat >/dev/null; cat <<'X'\n${verdict}\nX`)
      }}`,
    },
  );
  deepEqual([state, reason], ["succeeded", ""]);
  equal(await rig.printed(task.id, "judge"), `${verdict}\n`);
  equal(await rig.printed(task.id, "act"), "2\n");
  deepEqual(JSON.parse(await rig.printed(task.id, "show")), { all: "a\nb", k: "v" });
});

test("a step that prints more than an output holds fails, and says so", async (rig) => {
  const { task, reason } = await rig.all(`
  steps: [{id: a, run: head -c 131073 /dev/zero | tr '\\0' x, stdout: all}]`);
  match(reason, /^step "a": it printed 131073 bytes, and "stdout: all" holds at most 131072/);
  deepEqual(task.steps[0]?.outputs, undefined);
});
