/**
 * Steps that behave badly (bad input): each ends with its state, its reason and its exit code,
 * nothing of it is left, and the worker goes on.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { longTest, NO_DATABASE, ONE_PROGRAM, programTest, slowTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { logsIn } from "../helpers/stored_texts.ts";
import { processRuns, untilFile } from "../helpers/until.ts";

/** Applies a workflow of these steps, and starts a task of it. */
async function start(daemon: TestDaemon, spec: Record<string, unknown>): Promise<string> {
  const manifest: Manifest = { kind: "Workflow", metadata: { name: "record" }, spec };
  await daemon.apply(manifest, trigger("now", { webhook: { allowUnsigned: true } }));
  const { json } = await daemon.send("/webhook/now", { body: "{}" });
  return String(json["task_id"]);
}

/** A step with its reason. */
interface Step {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly exit_code: number | null;
}

/** Takes a name with a line end and a clean environment, minds no TERM, and has no child. */
const NAMED = 'exec env -i sh -c "printf \\"a) Z 1\\\\nb) Z 1\\" > /proc/\\$\\$/comm; ' +
  'trap \\"\\" TERM; mkfifo fifo\\$\\$; exec 3<>fifo\\$\\$; read _ <&3"';

/** Most memory that a process has had, in bytes. */
async function peak(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

const MIB = 1024 * 1024;

longTest(
  "a step that prints a gigabyte: it ends, a part is kept, and the daemon stays small",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const before = await peak(daemon.pid);
    const id = await start(daemon, {
      steps: [
        { id: "loud", run: "head -c 1000000000 /dev/zero" },
        { id: "louder", needs: [], run: "yes 2>/dev/null | head -c 500000000 >&2" },
        { id: "after", run: "echo fine" },
      ],
    });
    const tasks = await daemon.settled(240_000);
    const task = tasks.find((one) => one.id === id);
    deepEqual([task?.state, task?.reason], ["succeeded", ""]);
    const more = await peak(daemon.pid) - before;
    ok(more < 200_000_000, `${more} bytes more`);
    const logs = await daemon.svc(["task", "logs", id, "--step", "after"]);
    equal(logs.stdout, "fine\n");
    const kept = 2 * (ONE_PROGRAM.onPostgres === true ? 8 : 64) * MIB;
    const size = (await logsIn(daemon.dataDir)).reduce((sum, [, text]) => sum + text.length, 0);
    ok(size > kept && size < 1.5 * kept, `${size} of ${kept}`);
  },
);

slowTest("exit codes, signals and missing programs are told apart", async (program) => {
  await using daemon = await startDaemon(program);
  const alone = (id: string, run: string, more = {}) => ({
    id,
    run,
    needs: [],
    continueOnError: true,
    ...more,
  });
  await start(daemon, {
    steps: [
      alone("exits", "exit 137"),
      alone("killed", "kill -KILL $$"),
      alone("missing", "no-such-program-at-all --help"),
      alone("directory", "/"),
      alone("syntax", "if then"),
      alone("stubborn", "trap '' TERM INT HUP; while :; do sleep 0.05; done", { timeout: 1 }),
      alone(
        "forks",
        "for i in 1 2 3 4 5; do sh -c 'sleep 60 & sleep 60 & echo $! >> pids; wait' & done; sleep 0.5",
      ),
      alone("away", "setsid sh -c 'echo $$ > away; exec sleep 60' >/dev/null 2>&1 & sleep 0.3"),
      alone("named", `echo $$ > named; ${NAMED}`, { timeout: 1 }),
      alone("behind", `sh -c '${NAMED}' & echo $! > behind`),
      { id: "last", needs: ["stubborn", "forks"], run: "echo on" },
    ],
  });
  const [task] = await daemon.settled();
  equal(task?.state, "succeeded");
  const steps = new Map((task?.steps as unknown as Step[]).map((step) => [step.id, step]));
  const shown = (id: string) => {
    const { state, reason, exit_code } = steps.get(id) as Step;
    return [state, reason ?? "", exit_code];
  };
  deepEqual(shown("exits"), ["failed", "exit code 137", 137]);
  deepEqual(shown("killed"), ["failed", "killed by SIGKILL", 137]);
  deepEqual(shown("missing"), ["failed", "exit code 127 (command not found)", 127]);
  deepEqual(shown("directory"), ["failed", "exit code 126 (the command cannot be run)", 126]);
  deepEqual(shown("syntax"), ["failed", "exit code 2", 2]);
  deepEqual(shown("stubborn"), ["failed", "timed out after 1s, the step's timeout", 137]);
  deepEqual(shown("named"), ["failed", "timed out after 1s, the step's timeout", 137]);
  deepEqual(shown("behind"), ["succeeded", "", 0]);
  deepEqual(shown("forks"), ["succeeded", "", 0]);
  deepEqual(shown("last"), ["succeeded", "", 0]);
  const pids = (await untilFile(`${daemon.workspace}/pids`)).trim().split("\n");
  pids.push((await untilFile(`${daemon.workspace}/away`)).trim());
  for (const name of ["named", "behind"]) {
    pids.push((await untilFile(`${daemon.workspace}/${name}`)).trim());
  }
  equal(pids.length, 8);
  deepEqual(await Promise.all(pids.map(Number).map(processRuns)), pids.map(() => false));
}, { fileOnly: NO_DATABASE });

programTest(
  "a command line too long for the system fails its step, and the next task runs",
  async (program) => {
    await using daemon = await startDaemon(program);
    await start(daemon, { steps: [{ id: "long", run: `: ${"x".repeat(200_000)}` }] });
    const [long] = await daemon.settled();
    equal(long?.state, "failed");
    match(long?.reason ?? "", /^step "long": Cannot start a process: /);
    const id = await start(daemon, { steps: [{ id: "ok", run: "true" }] });
    equal((await daemon.settled()).find((task) => task.id === id)?.state, "succeeded");
  },
  { fileOnly: NO_DATABASE },
);

slowTest(
  "a worktree that is never made: its task can be cancelled, others behind it, too, and timeouts hold",
  async (program) => {
    await using daemon = await startDaemon(program);
    const pid = `${daemon.dataDir}/pid`;
    const stuck = `echo $$ > ${pid}; mkfifo ${pid}.fifo; exec 3<>${pid}.fifo; read _ <&3`;
    await Deno.writeTextFile(`${daemon.dataDir}/stuck.sh`, `trap "" TERM; ${stuck}\n`);
    const { success } = await new Deno.Command("/bin/sh", {
      args: [
        "-ec",
        `cd "$1"; git init --quiet; echo "* filter=stuck" > .gitattributes; git add .
        git -c user.name=T -c user.email=t@example.com -c commit.gpgsign=false commit --quiet -m one
        git config filter.stuck.smudge "sh $2/stuck.sh"
        printf '#!/bin/sh\\nsleep 600\\n' > .git/hooks/post-checkout
        chmod +x .git/hooks/post-checkout`,
        "sh",
        daemon.workspace,
        daemon.dataDir,
      ],
    }).output();
    ok(success);
    const spec = { path: daemon.workspace, isolation: "worktree" };
    await daemon.apply({ kind: "Workspace", metadata: { name: "default" }, spec });
    const steps = [{ id: "a", run: "true" }];
    const first = await start(daemon, { steps });
    const holder = Number(await untilFile(pid));
    const second = await start(daemon, { steps });
    const third = await start(daemon, { timeout: 1, steps });
    const late = await daemon.svc(["task", "wait", third]);
    equal(late.code, 1);
    for (const id of [second, first]) {
      const { code, stderr } = await daemon.svc(["task", "cancel", id]);
      equal(code, 0, stderr);
    }
    const tasks = new Map((await daemon.settled()).map((task) => [task.id, task]));
    const states = [first, second, third].map((id) => tasks.get(id)?.state);
    deepEqual(states, ["cancelled", "cancelled", "failed"]);
    equal(tasks.get(third)?.reason, "the timeout of 1 s ran out while its worktree was created");
    equal(await processRuns(holder), false);
    deepEqual([...Deno.readDirSync(`${daemon.dataDir}/worktrees`)], []);
  },
  { skip: missing("git") },
);
