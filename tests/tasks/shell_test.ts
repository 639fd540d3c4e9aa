/**
 * What reads the text of a step: `/bin/sh -e`, bash, or a program of one's own; a line that fails
 * fails its step under each.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { type RunRig, runRig, stepsOf } from "../rigs/run_rig.ts";

function test(name: string, body: (rig: RunRig) => Promise<void>): void {
  Deno.test(name, async () => {
    await using rig = await runRig();
    await body(rig);
  });
}

/** A workflow of one step; `fields` are its further fields, as JSON. */
const step = (run: string, fields: Record<string, unknown> = {}, more = {}) =>
  JSON.stringify({ steps: [{ id: "a", run, ...fields }], ...more });

const FAILING: readonly [name: string, run: string, shell: unknown, reason: string][] = [
  ["a failed line of sh", "false\necho still here\n", undefined, "exit code 1"],
  ["a failed line of sh, named", "(exit 3)\necho still here\n", "sh", "exit code 3"],
  ["two commands of one line", "false; echo still here", undefined, "exit code 1"],
  ["a failed line of bash", "false\necho still here\n", "bash", "exit code 1"],
  ["the first part of a pipe in bash", "(exit 4) | cat\necho still here", "bash", "exit code 4"],
  ["a command that is not there", "nothing-like-it\necho still here", undefined, "exit code 127"],
];

for (const [name, run, shell, reason] of FAILING) {
  test(`${name} fails its step, and nothing after it runs`, async (rig) => {
    const made = await rig.all(step(run, shell === undefined ? {} : { shell }));
    equal(made.state, "failed");
    equal(made.reason.startsWith(`step "a": ${reason}`), true, made.reason);
    equal(await rig.printed(made.task.id), "");
  });
}

const PASSING: readonly [run: string, fields: Record<string, unknown>, printed: string][] = [
  // Failures that `sh -e` ignores: conditions, all but the last of `&&` and `||`, and negated
  // commands.
  ["if false; then :; fi\nfalse || echo or\nfalse && :\n! true\necho end", {}, "or\nend\n"],
  ["false | cat\necho end", {}, "end\n"],
  ["a=(x y); [[ ${a[1]} == y ]] && echo $0 $#", { shell: "bash" }, "bash 0\n"],
  ["set +e\nfalse\necho end", { shell: "bash" }, "end\n"],
  ["echo two words; echo $#", { shell: ["sh", "-u"] }, "two words\n0\n"],
  ["echo in $0", { shell: ["/bin/sh", "-c", 'echo given; cat "$0"'] }, "given\necho in $0"],
];

for (const [run, fields, printed] of PASSING) {
  test(`${JSON.stringify(run)} with ${JSON.stringify(fields)} succeeds`, async (rig) => {
    const made = await rig.all(step(run, fields));
    deepEqual([made.state, made.reason], ["succeeded", ""]);
    equal(await rig.printed(made.task.id), printed);
  });
}

test("the shell of the workflow is that of its steps, and a step may have another", async (rig) => {
  const made = await rig.all(JSON.stringify({
    shell: "bash",
    steps: [
      { id: "a", run: "echo ${BASH_VERSION:+bash}" },
      { id: "b", shell: "sh", run: "echo none ${BASH_VERSION:+bash}" },
    ],
    finally: [{ id: "c", run: "echo ${BASH_VERSION:+bash}" }],
  }));
  equal(made.state, "succeeded");
  equal(await rig.printed(made.task.id), "bash\nnone\nbash\n");
});

test("the shell of the workflow leaves its agents alone", async (rig) => {
  const made = await rig.all('{shell: bash, steps: [{id: a, agent: cat, prompt: "p"}]}', {
    more: "kind: Agent\nmetadata: {name: cat}\nspec: {command: 'cat; echo ${BASH_VERSION:-sh}'}",
  });
  deepEqual([made.state, await rig.printed(made.task.id)], ["succeeded", "psh\n"]);
});

test("a failed line of an agent's command fails its step", async (rig) => {
  const made = await rig.all('{steps: [{id: a, agent: two, prompt: "p"}]}', {
    more: 'kind: Agent\nmetadata: {name: two}\nspec: {command: "false\\necho still here"}',
  });
  deepEqual([made.reason, await rig.printed(made.task.id)], ['step "a": exit code 1', ""]);
});

test("a program gets the text as a file, whole, whatever stands in it", async (rig) => {
  const run = `'"$HOME" \`id\` \\ ${"x".repeat(200_000)}\n`;
  const made = await rig.all(step(run, { shell: ["cat", "--"] }));
  deepEqual([made.state, await rig.printed(made.task.id)], ["succeeded", run]);
});

test("a program takes the place of the shell: the signal that ended it is named", async (rig) => {
  const made = await rig.all(step("kill -9 $$", { shell: "bash" }));
  equal(made.reason, 'step "a": killed by SIGKILL');
});

const ABSENT: readonly [shell: unknown, said: RegExp][] = [
  [
    ["no-such-shell", "-u"],
    /^step "a": The shell "no-such-shell" of this step is not installed: it is in no directory of PATH \(.+\)\. Install it, or change "shell"$/,
  ],
  [["/no/such/shell"], /^step "a": The shell "\/no\/such\/shell" .*: the file does not exist\./],
];

for (const [shell, said] of ABSENT) {
  test(`the shell ${JSON.stringify(shell)} is not installed, and the reason says so`, async (rig) => {
    match((await rig.all(step("echo", { shell }))).reason, said);
  });
}

test("PATH of the step says where its shell is looked for", async (rig) => {
  await Deno.writeTextFile(`${rig.workspace}/mine`, '#!/bin/sh\necho mine; cat "$1"\n', {
    mode: 0o700,
  });
  const env = { PATH: `/usr/bin:/bin:${rig.workspace}` };
  const made = await rig.all(step("text", { shell: ["mine"], env }));
  deepEqual([made.state, await rig.printed(made.task.id)], ["succeeded", "mine\ntext"]);
  deepEqual(stepsOf(made.task.steps), ["a succeeded"]);
});
