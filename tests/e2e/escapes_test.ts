/**
 * The ways out of a sandbox (`tests/sandbox/escapes.ts`), each run as a step by a daemon: nothing comes
 * out, neither into the log and the outputs nor outside. `tests/sandbox/ordinary_user_test.ts` runs them
 * below the daemon of an ordinary user, too.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { trigger } from "../helpers/manifests.ts";
import { everyProgramTest, NO_DATABASE, ONE_PROGRAM, runSvc } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { ALLOWED, type Escape, ESCAPES } from "../sandbox/escapes.ts";
import { makeOutside, type Outside } from "../sandbox/outside.ts";

const LACKS = missing("perl", "git") ?? NO_SANDBOX;

/** A line goes on after what fails. What an earlier one has left would be in its way. */
const BEFORE = "set +e; rm -rf link hard evil evil-hooks old new 2>/dev/null\n";

/** Runs each as a step of one task, in this workspace; gives what came out. */
async function tryAll(
  daemon: TestDaemon,
  escapes: readonly Escape[],
  outside: Outside,
  workspace: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const steps = escapes.map(({ line, network, session }, at) => ({
    id: `e${at}`,
    ...session === true
      ? { agent: "shell", prompt: BEFORE + line, session: { key: '"mine"' } }
      : { run: BEFORE + line },
    env: outside.variables,
    timeout: 60,
    continueOnError: true,
    sandbox: { network: network === undefined ? "none" : { allow: [...ALLOWED] } },
  }));
  await daemon.apply(
    { kind: "Agent", metadata: { name: "shell" }, spec: { command: "/bin/sh -s", timeout: 60 } },
    { kind: "Workspace", metadata: { name: "workspace" }, spec: workspace },
    { kind: "Workflow", metadata: { name: "record" }, spec: { steps } },
    trigger("now", { webhook: { allowUnsigned: true }, workspace: "workspace" }),
  );
  const { json } = await daemon.send("/webhook/now", { body: "{}" });
  const id = String(json["task_id"]);
  await daemon.settled(300_000);
  const described = await daemon.svc(["describe", `task/${id}`, "-o", "json"]);
  equal(described.code, 0, described.stderr);
  const task = JSON.parse(described.stdout);
  equal(task.state, "succeeded", task.reason);
  const came: string[] = [];
  const env = { SVC_DATA_DIR: daemon.dataDir };
  for (const [at, escape] of escapes.entries()) {
    const step = task.steps.find((one: { id: string }) => one.id === `e${at}`);
    const reason = String(step.reason ?? "");
    ok(!/sandbox cannot be made|cannot start/.test(reason), `${escape.name}: ${reason}`);
    const logs = await runSvc(ONE_PROGRAM, ["task", "logs", id, "--step", `e${at}`], { env });
    equal(logs.code, 0, logs.stderr);
    const tried = { printed: logs.stdout + logs.stderr, outputs: step.outputs ?? {} };
    const out = await escape.worked(outside, tried);
    if (out !== undefined) came.push(`a step ${escape.name}: ${out}`);
  }
  return came;
}

const hasGroups = ({ limits }: Escape) => limits !== undefined;

everyProgramTest(
  "nothing comes out of the sandbox of a step",
  async (program) => {
    const rest = ESCAPES.filter((one) => !hasGroups(one));
    const isGit = ({ rule }: Escape) => rule === "git" || rule === "ownGit";
    const isOwn = ({ workspace }: Escape) => workspace === "repository";
    {
      await using outside = await makeOutside();
      await using daemon = await startDaemon(program);
      const plain = rest.filter((one) => !isGit(one));
      deepEqual(await tryAll(daemon, plain, outside, { path: outside.workspace }), []);
      const homes = await Array.fromAsync(Deno.readDir(`${daemon.dataDir}/sessions`));
      equal(homes.length, 1, "steps that are to have a session had it");
    }
    {
      await using outside = await makeOutside();
      await using daemon = await startDaemon(program);
      const git = rest.filter((one) => isGit(one) && !isOwn(one));
      const at = { path: outside.repository, isolation: "worktree" };
      deepEqual(await tryAll(daemon, git, outside, at), []);
    }
    {
      await using outside = await makeOutside("repository");
      await using daemon = await startDaemon(program);
      deepEqual(
        await tryAll(daemon, rest.filter(isOwn), outside, { path: outside.workspace }),
        [],
      );
    }
  },
  { skip: LACKS, fileOnly: NO_DATABASE },
);
