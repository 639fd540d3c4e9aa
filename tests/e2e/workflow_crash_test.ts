/**
 * Recovery of whole workflows (D2): the daemon is killed twenty times while tasks with steps side
 * by side, tries and `finally` run in worktrees of their own. Each comes to one end, no step runs
 * beside its own twin, and nothing is left behind.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { longTest, ONE_PROGRAM, run } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { findFile, until } from "../helpers/until.ts";

/** Milliseconds after which each daemon is killed, counted from the first step it has begun. */
const KILLS = [0, 60, 130, 210, 310, 420, 540, 10, 110, 240];

/**
 * What every step runs: tells of a twin, and leaves something behind that nobody sees. A twin is a
 * process that runs, with the environment of this very step.
 */
const STEP = `#!/bin/sh
me=$STATE/$SVC_TASK_ID.$SVC_STEP
if [ -e "$me" ] && tr '\\0' '\\n' < "/proc/$(cat "$me")/environ" 2>/dev/null |
    grep -qx "SVC_TASK_ID=$SVC_TASK_ID"; then
  echo "$SVC_TASK_ID $SVC_STEP" >> "$STATE/twins"
fi
echo $$ > "$me"
echo "$SVC_TASK_ID $SVC_STEP" >> "$STATE/begun"
setsid sleep 300 >/dev/null 2>&1 &
sleep 0.15
echo "$SVC_STEP" >> done
rm -f "$me"
`;

const step = (id: string, more = {}) => ({ id, run: '"$STATE/step.sh"', ...more });

const WORKFLOW = {
  steps: [
    step("a"),
    step("b"),
    step("c", { needs: ["a"] }),
    step("d", {
      needs: ["a"],
      run: '[ "$SVC_ATTEMPT" -gt 1 ] && exec "$STATE/step.sh"; exit 1',
      retry: { attempts: 2, backoffSecs: 0 },
    }),
    step("e", { needs: ["b", "c", "d"], run: '"$STATE/step.sh"; sort -u done' }),
  ],
  finally: [step("z")],
};

/** Processes of steps of any task of this data directory. */
function stepsLeft(dataDir: string): string[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => name).filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const env = Deno.readTextFileSync(`/proc/${name}/environ`).split("\0");
      return env.includes(`SVC_DATA_DIR=${dataDir}`) &&
        env.some((one) => one.startsWith("SVC_STEP="));
    } catch {
      return false; // it has ended meanwhile
    }
  });
}

longTest(
  `kill -9 while workflows run, ${KILLS.length} times: each task comes to one end, without twins, and nothing is left`,
  async () => {
    await using state = await tempDir();
    await Deno.writeTextFile(`${state.path}/step.sh`, STEP, { mode: 0o755 });
    const repo = `${state.path}/repo`;
    const git = async (...args: string[]) => {
      const result = await run("git", [
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@example.com",
        ...args,
      ]);
      equal(result.code, 0, result.stderr);
      return result.stdout.trim();
    };
    await git("init", "--quiet", "--initial-branch=main", repo);
    await git("-C", repo, "commit", "--quiet", "--allow-empty", "-m", "one");
    const workspace: Manifest = {
      kind: "Workspace",
      metadata: { name: "default" },
      spec: { path: repo, isolation: "worktree", env: { STATE: state.path } },
    };
    const workflow: Manifest = { kind: "Workflow", metadata: { name: "record" }, spec: WORKFLOW };

    await using directory = await initDataDirectory(ONE_PROGRAM);
    const begun = async () => (await findFile(`${state.path}/begun`) ?? "").split("\n").length - 1;
    for (const [round, killAfterMs] of KILLS.entries()) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      await daemon.apply(workspace, workflow, trigger("now", { webhook: { allowUnsigned: true } }));
      const before = await begun();
      for (let n = 0; n < 2; n++) {
        equal((await daemon.send("/webhook/now", { body: `{"n":${round * 2 + n}}` })).status, 200);
      }
      await until("a step", async () => await begun() > before ? true : undefined);
      await new Promise((resolve) => setTimeout(resolve, killAfterMs));
      await daemon.crash();
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    const tasks = await daemon.settled(120_000);

    equal(tasks.length, 2 * KILLS.length);
    const ends = tasks.map(({ state, reason }) => `${state} ${reason ?? ""}`.trim());
    deepEqual(ends.filter((end) => !["succeeded", "failed interrupted"].includes(end)), []);
    const succeeded = tasks.filter((task) => task.state === "succeeded");
    ok(succeeded.length >= KILLS.length, `${succeeded.length} of ${tasks.length} succeeded`);
    for (const task of succeeded) {
      deepEqual(task.steps.map(({ id, state }) => `${id} ${state}`), [
        ...["a", "b", "c", "d", "e", "z"].map((id) => `${id} succeeded`),
      ]);
      const logs = await daemon.svc(["task", "logs", task.id, "--step", "e"]);
      ok(
        logs.stdout.endsWith("a\nb\nc\nd\ne\n"),
        `every step ran in one directory: ${logs.stdout}`,
      );
    }
    equal(await findFile(`${state.path}/twins`), undefined);
    deepEqual(stepsLeft(daemon.dataDir), []);
    // Of those that were given up the directory is kept, unless the kill came while it was made.
    const places = [
      await git("-C", repo, "worktree", "list"),
      await git("-C", repo, "branch", "--list"),
      ...[...Deno.readDirSync(`${daemon.dataDir}/worktrees`)].map(({ name }) => name),
    ].join("\n");
    deepEqual(succeeded.filter(({ id }) => places.includes(id)), []);
    deepEqual([...Deno.readDirSync(`${daemon.dataDir}/run`)], []);
  },
  { skip: missing("git") },
);
