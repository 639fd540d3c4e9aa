/**
 * `report.github.pull`: the daemon opens the pull request itself at the end of a task that has succeeded,
 * and what fails there never fails the task.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon } from "../helpers/daemon.ts";
import { NO_DATABASE, ONE_PROGRAM } from "../helpers/program.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import {
  ask,
  changeableGitHub,
  changeTest,
  cloneOf,
  manifestsOf,
  type Message,
  REPOSITORY,
} from "../rigs/change_rig.ts";

/**
 * Runs a task whose step is a line, with further steps behind it, and gives the task with the message
 * about its pull request.
 */
async function reported(
  line: string,
  may: Record<string, unknown> = { pull: {} },
  { sandbox, behind = [] }: {
    readonly sandbox?: unknown;
    readonly behind?: readonly Record<string, unknown>[];
  } = {},
) {
  await using fake = await changeableGitHub();
  await using clone = await cloneOf(fake);
  await using daemon = await startDaemon(ONE_PROGRAM);
  const pull = {
    title: "Fix {{ payload.issue.number }}",
    body: "@/etc/passwd by {{ steps.step.outputs.who }}",
    all: true,
  };
  const manifests = manifestsOf(fake.url, { may, report: { github: { pull } } }).map((one) => {
    const manifest = one as { kind: string; spec: Record<string, unknown> };
    if (manifest.kind !== "Workflow") return one;
    const step = { id: "step", run: line, ...sandbox === undefined ? {} : { sandbox } };
    return { ...one, spec: { ...manifest.spec, steps: [step, ...behind] } };
  });
  const workspace = {
    kind: "Workspace",
    metadata: { name: "default" },
    spec: { path: clone.path, isolation: "worktree" },
  };
  await daemon.apply(workspace, ...manifests as typeof manifests & []);
  const task = await ask(daemon);
  const message = await until("the message of the report", async () => {
    const [{ state: of = "" } = {}] = await daemon.tasks();
    if (of === "failed") throw new Error((await daemon.svc(["task", "logs", task])).stdout);
    const all = await daemon.json("get", "outbox", "--task", task) as Message[];
    return all.find(({ state }) => state !== "pending");
  });
  const [record] = await daemon.tasks();
  const logs = (await daemon.svc(["task", "logs", task])).stdout;
  const text = await fake.git.tryRun(REPOSITORY, "cat-file", "blob", "svc/fix-1:fixed.txt");
  return { message, record, logs, text, pulls: fake.pulls.pulls };
}

/** Gives the output that the text of the pull request has. */
const SAY = 'echo "who=a step" >> "$SVC_OUTPUT"';

changeTest("a task that succeeds ends with a pull request of what its steps changed", async () => {
  const { message, record, pulls, logs } = await reported(`echo fixed > fixed.txt; ${SAY}`);
  equal(message.state, "sent", `${message.reason}\n${logs}`);
  equal(message.kind, "github-pull");
  equal(record?.state, "succeeded");
  const [pull] = pulls;
  ok(pull !== undefined);
  equal(pull.issue.title, "Fix 1");
  match(pull.issue.body, /^@\u200b\/etc\/passwd by a step\n\nFixes #1\n/);
});

changeTest(
  "a pull request that cannot be made is a message that says why, and the task has succeeded",
  async () => {
    const { message, record, pulls } = await reported(SAY);
    equal(message.state, "failed");
    match(message.reason, /^there is no pull request: .*[Nn]othing/);
    equal(record?.state, "succeeded");
    equal(pulls.length, 0);
  },
);

changeTest("the report counts against may.github.pull", async () => {
  const { message, record } = await reported(`echo x > x; ${SAY}`, { comment: {} });
  match(message.reason, /may\.github\.pull is not in Workflow "fix"/);
  equal(record?.state, "succeeded");
});

changeTest("a task that fails opens nothing", async () => {
  await using fake = await changeableGitHub();
  await using daemon = await startDaemon(ONE_PROGRAM);
  const report = { github: { pull: { title: "Fix", all: true }, comment: "done" } };
  const manifests = manifestsOf(fake.url, { report }).map((one) => {
    const manifest = one as { kind: string; spec: Record<string, unknown> };
    if (manifest.kind !== "Workflow") return one;
    return { ...one, spec: { ...manifest.spec, steps: [{ id: "step", run: "exit 3" }] } };
  });
  await daemon.apply(...manifests);
  const task = await ask(daemon);
  await until("the comment", async () => {
    const all = await daemon.json("get", "outbox", "--task", task) as Message[];
    return all.every(({ kind }) => kind === "github-comment") && all.length === 1 || undefined;
  });
});

/** Leaves a program for the texts of the change, which makes a mark there, and outside if it can. */
const plant = (outside: string) => `
printf '#!/bin/sh\ntouch ${outside}/ran 2>/dev/null\ncat\necho cleaned\n' >program
chmod +x program
echo '*.txt filter=planted' >.gitattributes
printf '/program\n/.gitattributes\n/.gitignore\n' >.gitignore
echo fixed >fixed.txt
${SAY}`;

for (
  const [how, sandbox, left] of [
    ["in its sandbox, whatever steps are behind it", { network: "none" }, []],
    ["without a sandbox as the user of the daemon", "none", ["ran"]],
  ] as const
) {
  changeTest(
    `what a step has left in its directory meets git ${how}`,
    async () => {
      await using outside = await tempDir();
      // As `git lfs install` would: a step in a sandbox cannot.
      const run = 'git config filter.planted.clean "$PWD/program"';
      const behind = [{ id: "behind", run, sandbox: "none" }];
      const may = { pull: { hold: "never" } };
      const given = { sandbox, behind };
      const { message, pulls, text, logs } = await reported(plant(outside.path), may, given);
      equal(message.state, "sent", `${message.reason}\n${logs}`);
      equal(pulls.length, 1);
      deepEqual([...Deno.readDirSync(outside.path)].map(({ name }) => name), left);
      equal(text, "fixed\ncleaned", "the program has run");
    },
    { skip: NO_SANDBOX, fileOnly: NO_DATABASE },
  );
}
