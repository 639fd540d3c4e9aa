/**
 * An approval of files: what people are shown is what the next step finds, committed or not.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import type { ShownApproval } from "../../src/api/approval_operations.ts";
import type { Client } from "../../src/api/client.ts";
import { defined } from "../../src/base/defined.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { git } from "../rigs/git_repository.ts";

const NO_GIT = defined({ skip: missing("git") });

/** Two workflows: one changes a text, the other a file without text as well. */
function manifests(workspace: string): readonly Manifest[] {
  const workflow = (name: string, more: string): Manifest => ({
    kind: "Workflow",
    metadata: { name },
    spec: {
      steps: [
        { id: "fix", run: `printf "fixed\\n" >file; ${more}` },
        { id: "ok", needs: ["fix"], approval: { ask: "Push?", by: ["socket"], diff: true } },
        { id: "push", needs: ["ok"], run: "true" },
      ],
    },
  });
  return [
    {
      kind: "Workspace",
      metadata: { name: "default" },
      spec: { path: workspace, isolation: "worktree" },
    },
    workflow("text", "true"),
    workflow("binary", 'printf "\\0" >picture'),
    trigger("text", { workflow: "text" }),
    trigger("binary", { workflow: "binary" }),
  ];
}

/** A question, and the worktree in which its task waits. */
interface Asked extends ShownApproval {
  readonly path: string;
}

async function ask(daemon: TestDaemon, client: Client, name: string): Promise<Asked> {
  const fired = await client.call("trigger.fire", { name, payload: "{}", headers: {} });
  const id = fired.task_id ?? "";
  await until("the question", async () => {
    const [task] = await daemon.tasks();
    return task?.state === "waiting" || undefined;
  });
  const { path } = await client.call("task.workspace", { id });
  return { ...await client.call("approval", { id }), path };
}

/** Approves what was asked; why the task did not succeed, if it did not. */
async function approve(daemon: TestDaemon, client: Client, question: Asked): Promise<string> {
  const { task_id: id, digest } = question;
  await client.call("approval.answer", { id, answer: "approved", digest });
  const [task] = await daemon.settled();
  return task?.reason ?? "";
}

programTest("commits and files after the question are not approved", async () => {
  await using home = await tempDir();
  const workspace = `${home.path}/work`;
  await Deno.mkdir(workspace);
  await git(workspace, "init", "--quiet");
  await Deno.writeTextFile(`${workspace}/file`, "old\n");
  await git(workspace, "add", ".");
  await git(workspace, "commit", "--quiet", "-m", "one");
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(...manifests(workspace));
  using client = daemon.client();

  const right = await ask(daemon, client, "text");
  match(right.diff ?? "", /^-old\n\+fixed$/m);
  equal(right.diff_is_cut, false);
  equal(await approve(daemon, client, right), "");

  const committed = await ask(daemon, client, "text");
  await git(committed.path, "commit", "--quiet", "--allow-empty", "-m", "more");
  match(
    await approve(daemon, client, committed),
    /approved by .*, but what is committed is not what was shown: HEAD was [0-9a-f]{8}, and is/,
  );

  const changed = await ask(daemon, client, "text");
  await Deno.writeTextFile(`${changed.path}/file`, "evil\n");
  match(await approve(daemon, client, changed), /but the files are not those that were shown/);

  const binary = await ask(daemon, client, "binary");
  equal(binary.diff_is_cut, true);
  const partly = (await daemon.svc(["task", "approve", binary.task_id])).stderr;
  match(partly, /^ {2}\[Not shown: what is in "picture": no text\]$/m);
  match(partly, /^ {2}All of it is in: cd "\$\(svc task workspace \w+\)"$/m);
  equal(await approve(daemon, client, binary), "");
}, NO_GIT);
