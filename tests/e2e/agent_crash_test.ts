/**
 * Recovery of agents: the daemon is killed fifty times while steps work in sessions, take over from each
 * other at limits, and wait for turns. Each task comes to one end, no session has two users, no agent more
 * than its seats, and no seat is lost.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { longTest, ONE_PROGRAM, times } from "../helpers/program.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { missing } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { findFile, until } from "../helpers/until.ts";

/** Milliseconds after which each daemon is killed, counted from the first agent it has begun. */
const KILLS = times(20, 20).of([0, 40, 90, 150, 230, 320, 430, 560, 20, 700]);
const KEYS = 4;

/**
 * An agent: its name, its seats, then the options of its session. It tells of anybody who works beside it
 * where nobody may, and of a conversation that is not the one it is told to go on with. Locks end with the
 * process that has them.
 */
const AGENT = `#!/bin/bash
name=$1 seats=$2 how=$3 id=$4
tell() { echo "$*: $SVC_TASK_ID $SVC_STEP" >> "$STATE/faults"; }
say() { printf '%s\\n' "$1"; }
fail() { say '{"type":"result","is_error":true,"result":"'"$1"'"}'; exit 1; }
exec 7>>"$STATE/step.$SVC_TASK_ID.$SVC_STEP"; flock -n 7 || tell "the step has a twin"
exec 9>>"$HOME/lock"; flock -n 9 || tell "the session has two users"
got=
for seat in $(seq "$seats"); do
  exec 8>>"$STATE/seat.$name.$seat"
  if flock -n 8; then got=1; break; fi
done
[ -n "$got" ] || tell "$name has more users than seats"
case $how in
  --again) [ "$(cat "$HOME/id" 2>/dev/null)" = "$id" ] || fail "No conversation found" ;;
  --new) [ "$(cat "$HOME/id" 2>/dev/null)" != "$id" ] || fail "Session $id is in use"
    echo "$id" > "$HOME/id" ;;
esac
echo "$SVC_TASK_ID" >> "$STATE/begun"
say '{"type":"assistant","message":{"content":[{"type":"text","text":"at work"}]}}'
if rm "$STATE/limit.$name" 2>/dev/null; then
  say '{"type":"result","is_error":true,"api_error_status":429,"result":"limit, try again in 1 s"}'
  exit 1
fi
sleep 0.1
[ -z "$id" ] || echo "$SVC_TASK_ID" >> "$HOME/turns"
say '{"type":"result","is_error":false,"result":"done","usage":{"output_tokens":1}}'
`;

function agent(state: string, name: string, seats: number): Manifest {
  return {
    kind: "Agent",
    metadata: { name },
    spec: {
      command: `"$STATE/agent.sh" ${name} ${seats} $SVC_SESSION_FLAGS`,
      output: "claude",
      timeout: "10m",
      maxParallel: seats,
      resume: { new: "--new $SVC_SESSION", again: "--again $SVC_SESSION" },
      env: { STATE: state },
      sandbox: { network: "none", write: [state] },
    },
  };
}

const WORKFLOW: Manifest = {
  kind: "Workflow",
  metadata: { name: "record" },
  spec: {
    steps: [
      { id: "fix", agent: ["a", "b"], session: { key: "string(payload.key)" }, prompt: "p" },
      { id: "look", agent: "b", needs: [], prompt: "q" },
      { id: "end", needs: ["fix", "look"], run: "true" },
    ],
  },
};

longTest(
  `kill -9 while agents work, ${KILLS.length} times: one end each, no twin, no seat lost, no session shared`,
  async () => {
    await using state = await tempDir();
    await Deno.writeTextFile(`${state.path}/agent.sh`, AGENT, { mode: 0o755 });
    await Deno.chmod(state.path, 0o777);
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const begun = async () => (await findFile(`${state.path}/begun`) ?? "").split("\n").length - 1;
    const [first, ...others] = [
      agent(state.path, "a", 2),
      agent(state.path, "b", 1),
      WORKFLOW,
      trigger("now", { webhook: { allowUnsigned: true } }),
    ];
    for (const [round, killAfterMs] of KILLS.entries()) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      if (first !== undefined && round === 0) await daemon.apply(first, ...others);
      const before = await begun();
      if (round % 5 === 0) await Deno.writeTextFile(`${state.path}/limit.a`, "");
      if (round % 15 === 0) await Deno.writeTextFile(`${state.path}/limit.b`, "");
      for (let n = 0; n < 2; n++) {
        const body = JSON.stringify({ n: round * 2 + n, key: (round * 2 + n) % KEYS });
        equal((await daemon.send("/webhook/now", { body })).status, 200);
      }
      // After a limit of both, nobody works for a while.
      await until("an agent", async () => await begun() > before ? true : undefined);
      await new Promise((resolve) => setTimeout(resolve, killAfterMs));
      await daemon.crash();
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    const tasks = await daemon.settled(300_000);

    equal(await findFile(`${state.path}/faults`), undefined);
    equal(tasks.length, 2 * KILLS.length);
    const ends = tasks.map(({ state, reason }) => `${state} ${reason ?? ""}`.trim());
    deepEqual(ends.filter((end) => !["succeeded", "failed interrupted"].includes(end)), []);
    const succeeded = tasks.filter((task) => task.state === "succeeded");
    ok(succeeded.length >= KILLS.length, `${succeeded.length} of ${tasks.length} succeeded`);
    const told: string[] = [];
    for (const { name } of Deno.readDirSync(`${daemon.dataDir}/sessions`)) {
      told.push(...(await findFile(`${daemon.dataDir}/sessions/${name}/turns`) ?? "").split("\n"));
    }
    deepEqual(succeeded.filter(({ id }) => !told.includes(id)).map(({ id }) => id), []);
    // A seat that was lost would keep the one step out that it is for.
    for (let key = 0; key < KEYS; key++) {
      equal((await daemon.send("/webhook/now", { body: `{"n":"last","key":${key}}` })).status, 200);
    }
    const last = (await daemon.settled(60_000)).slice(0, KEYS);
    deepEqual([...new Set(last.map((task) => task.state))], ["succeeded"]);
  },
  { skip: NO_SANDBOX ?? missing("flock") },
);
