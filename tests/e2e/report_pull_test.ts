/**
 * `report.github.pull`: the daemon opens the pull request itself at the end of a task that has succeeded,
 * and what fails there never fails the task.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import {
  ask,
  changeableGitHub,
  changeTest,
  cloneOf,
  manifestsOf,
  type Message,
} from "../rigs/change_rig.ts";

/** Runs a task whose only step is a line, and gives it with the message about its pull request. */
async function reported(line: string, may: Record<string, unknown> = { pull: {} }) {
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
    return { ...one, spec: { ...manifest.spec, steps: [{ id: "step", run: line }] } };
  });
  const workspace = {
    kind: "Workspace",
    metadata: { name: "default" },
    spec: { path: clone.path, isolation: "worktree" },
  };
  await daemon.apply(workspace, ...manifests as typeof manifests & []);
  const task = await ask(daemon);
  const message = await until("the message of the report", async () => {
    const all = await daemon.json("get", "outbox", "--task", task) as Message[];
    return all.find(({ state }) => state !== "pending");
  });
  const [record] = await daemon.tasks();
  const logs = (await daemon.svc(["task", "logs", task])).stdout;
  return { message, record, logs, pulls: fake.pulls.pulls };
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
