/**
 * Steps with several agents, limits and seats: who does the work, when a step waits, and what is stored
 * about it, with real processes.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import type { TaskResult } from "../../src/tasks/run/task_context.ts";
import { skippable } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { until } from "../helpers/until.ts";
import { type RunRig, runRig, stepsOf } from "../rigs/run_rig.ts";

function test(name: string, body: (rig: RunRig) => Promise<void>): void {
  Deno.test(name, async () => {
    await using rig = await runRig();
    await body(rig);
  });
}

function sandboxed(name: string, body: (rig: RunRig) => Promise<void>): void {
  Deno.test(skippable(name, NO_SANDBOX), async () => {
    await using rig = await runRig();
    await body(rig);
  });
}

/** The end of a run that went well, and of runs that the API refused. */
const GOOD = { type: "result", is_error: false, result: "Done.", usage: { output_tokens: 5 } };
const LIMITED = {
  type: "result",
  is_error: true,
  api_error_status: 429,
  result: "You've hit your limit, try again in 20 minutes",
};
const REFUSED = { type: "result", is_error: true, api_error_status: 401, result: "Invalid key" };
const BROKEN = { type: "result", is_error: true, result: "It broke" };
/** What a model answers before its limit is reached. */
const BEGUN = { type: "result", is_error: false, result: "Half.", usage: { output_tokens: 7 } };

/** An Agent that notes its prompt, prints these events and ends with this code. */
function agent(name: string, events: readonly object[], more: object = {}): string {
  const failed = events.some((event) => "is_error" in event && event.is_error === true);
  const text = events.map((event) => JSON.stringify(event)).join("\n");
  const command = `cat > prompt.${name}; cat <<'EVENTS'\n${text}\nEVENTS\nexit ${failed ? 1 : 0}`;
  const spec = { command, output: "claude", ...more };
  return JSON.stringify({ kind: "Agent", metadata: { name }, spec });
}

const agents = (...all: string[]) => ({ more: all.join("\n---\n") });
const steps = (fields: string) => `{steps: [{id: fix, prompt: "work", ${fields}}]}`;

const readText = (rig: RunRig, name: string) => Deno.readTextFile(`${rig.workspace}/${name}`);

/** The limits that are noted, by agent, in minutes from now. */
async function limitsOf(rig: RunRig): Promise<Record<string, number>> {
  const uses = await rig.store.listAgentUse("default", Date.now());
  return Object.fromEntries(
    uses.flatMap(({ agent, limit }) =>
      limit === undefined ? [] : [[agent, Math.round((limit.until - Date.now()) / 60_000)]]
    ),
  );
}

test("where an agent reaches its limit, the next one takes over, and the limit is noted", async (rig) => {
  const { state, task } = await rig.all(
    steps("agent: [a, b]"),
    agents(agent("a", [LIMITED]), agent("b", [GOOD])),
  );
  equal(state, "succeeded");
  equal(task.steps[0]?.outputs?.["agent"], "b");
  equal(task.steps[0]?.attempt, undefined);
  match(
    await rig.printed(task.id, "fix", "svc"),
    /"b" takes over from "a": the agent reached its limit/,
  );
  deepEqual(await limitsOf(rig), { a: 20 });
  equal(await readText(rig, "prompt.b"), "work");
});

test("until its limit resets, nobody starts that agent", async (rig) => {
  await rig.store.noteLimit(
    { project: "default", agent: "a", until: Date.now() + 60_000, reason: "x" },
    Date.now(),
  );
  const { state, task } = await rig.all(
    steps("agent: [a, b]"),
    agents(agent("a", [GOOD]), agent("b", [GOOD])),
  );
  deepEqual([state, task.steps[0]?.outputs?.["agent"]], ["succeeded", "b"]);
});

test("an agent that began the work is named to the one that takes over", async (rig) => {
  const { state } = await rig.all(
    steps("agent: [a, b]"),
    agents(agent("a", [BEGUN, LIMITED]), agent("b", [GOOD])),
  );
  equal(state, "succeeded");
  match(await readText(rig, "prompt.b"), /^Another agent, a, began what follows.*\n\nwork$/s);
});

test("where an agent is not logged in, or missing, the next one takes over", async (rig) => {
  const missing = JSON.stringify({
    kind: "Agent",
    metadata: { name: "b" },
    spec: { command: "no-such-program --json", output: "codex" },
  });
  const { state, task } = await rig.all(
    steps("agent: [a, b, c]"),
    agents(agent("a", [REFUSED]), missing, agent("c", [GOOD])),
  );
  deepEqual([state, task.steps[0]?.outputs?.["agent"]], ["succeeded", "c"]);
  deepEqual(await limitsOf(rig), {});
});

test("after any other failure nobody takes over", async (rig) => {
  const { state, task } = await rig.all(
    steps("agent: [a, b]"),
    agents(agent("a", [BROKEN]), agent("b", [GOOD])),
  );
  deepEqual([state, task.steps[0]?.failure], ["failed", "error"]);
  equal(task.steps[0]?.outputs?.["agent"], "a");
});

test("where no agent is logged in, the step fails as the last one did", async (rig) => {
  const { state, task } = await rig.all(
    steps("agent: [a, b]"),
    agents(agent("a", [REFUSED]), agent("b", [REFUSED])),
  );
  deepEqual([state, task.steps[0]?.failure], ["failed", "auth"]);
  deepEqual(await rig.store.listAgentUse("default", Date.now()), []);
});

test("where every agent is limited, the step waits for the first that resets", async (rig) => {
  const later = { ...LIMITED, result: "You've hit your limit, try again in 40 minutes" };
  const { state, parked, task } = await rig.all(
    steps("agent: [a, b]"),
    agents(agent("a", [later]), agent("b", [LIMITED])),
  );
  equal(state, "waiting");
  equal(Math.round(((parked?.until ?? 0) - Date.now()) / 60_000), 20);
  match(
    stepsOf(task.steps).join(),
    /^fix waiting: waits until .*Z, when the limit of Agent "b" resets$/,
  );
});

test("a step that is not to wait fails at once, and so does one whose time ends before", async (rig) => {
  const never = await rig.all(steps("agent: a, onLimit: fail"), agents(agent("a", [LIMITED])));
  deepEqual([never.state, never.task.steps[0]?.failure], ["failed", "limit"]);
  await rig.store.noteLimit(
    { project: "default", agent: "a", until: Date.now() + 3_600_000, reason: "x" },
    Date.now(),
  );
  const short = await rig.all(steps("agent: a, timeout: 10m"), agents(agent("a", [GOOD])));
  deepEqual([short.state, short.task.steps[0]?.failure], ["failed", "limit"]);
  match(short.reason, /resets at .*, later than the step's timeout allows$/);
});

test("a step under finally does not wait", async (rig) => {
  const workflow = `{steps: [{id: a, run: ":"}], finally: [{id: z, agent: a, prompt: p}]}`;
  const { state, task } = await rig.all(workflow, agents(agent("a", [LIMITED])));
  deepEqual([state, task.steps[1]?.failure], ["failed", "limit"]);
});

test("a step without a seat waits, and goes on in the seat that is freed", async (rig) => {
  const one = agents(agent("a", [GOOD], { maxParallel: 1 }));
  const first = await rig.claim(steps("agent: a"), one);
  const taken = await rig.store.takeTurn({
    taskId: first.task.id,
    position: 0,
    project: "default",
    agents: [{ name: "a", seats: 1 }],
    now: Date.now(),
  });
  equal(taken.is, "held");
  const second = await rig.claim(steps("agent: a"), one);
  const waits = await rig.run(second);
  equal(waits.state, "waiting");
  await rig.store.parkTask(second.task.id, { steps: [], now: Date.now() });
  const task = await rig.task(second.task.id);
  deepEqual(stepsOf(task.steps), ['fix waiting: waits for a turn of Agent "a"']);
  deepEqual((await rig.store.claimTasks(10, Date.now())).tasks, []);
  equal((await rig.run(first)).state, "succeeded");
  equal((await rig.run(await rig.reclaim(second.task.id))).state, "succeeded");
  deepEqual(await rig.store.listAgentUse("default", Date.now()), []);
});

test("steps beside one that waits go on, and the task is parked at their end", async (rig) => {
  const { state, task } = await rig.all(
    `{steps: [
      {id: fix, agent: a, prompt: p},
      {id: b, needs: [], run: "sleep 0.2; touch b-ran"},
      {id: c, needs: [b], run: "touch c-ran"}]}`,
    agents(agent("a", [LIMITED])),
  );
  equal(state, "waiting");
  deepEqual(task.steps.map((one) => one.state), ["waiting", "succeeded", "succeeded"]);
  ok(await readText(rig, "c-ran") === "");
});

test("a task that is cancelled while it waits leaves no turn, and its step is cancelled", async (rig) => {
  const claimed = await rig.claim(steps("agent: a"), agents(agent("a", [LIMITED])));
  equal((await rig.run(claimed)).state, "waiting");
  await rig.store.parkTask(claimed.task.id, {
    steps: [],
    until: Date.now() + 1e6,
    now: Date.now(),
  });
  await rig.store.cancelTask(claimed.task.id, { reason: "enough", now: Date.now() });
  const again = await until("a worker gets it", async () => {
    const { tasks } = await rig.store.claimTasks(1, Date.now());
    return tasks[0];
  });
  const { state } = await rig.run(again, { cancel: AbortSignal.abort("enough") });
  equal(state, "cancelled");
  deepEqual(stepsOf((await rig.task(claimed.task.id)).steps), ["fix cancelled: cancelled"]);
  deepEqual((await rig.store.listAgentUse("default", Date.now())).map((one) => one.waiting), [0]);
});

/** An agent that keeps its conversation in its home, and says which options it was given. */
const KEEPS = JSON.stringify({
  kind: "Agent",
  metadata: { name: "a" },
  spec: {
    command: `set -- $SVC_SESSION_FLAGS
      echo "$*" >> flags; cat >> prompts; pwd >> places
      case $1 in
        --new) echo "$2" > ~/id ;;
        --again) [ "$(cat ~/id)" = "$2" ] || { echo "No conversation found" >&2; exit 1; } ;;
      esac
      [ ! -e fail ] || { rm fail; echo '{"type":"assistant"}'; exit 1; }
      echo '${JSON.stringify(GOOD)}'`,
    output: "claude",
    resume: { new: "--new $SVC_SESSION", again: "--again $SVC_SESSION" },
  },
});

const inSession = (key: string) =>
  steps(`agent: a, session: {key: "${key}"}, retry: {attempts: 2}`);

sandboxed("steps with one key go on in one session, and others have their own", async (rig) => {
  for (const key of ["'k'", "'k'", "'other'"]) {
    const { state, task } = await rig.all(inSession(key), agents(KEEPS));
    equal(state, "succeeded", await rig.printed(task.id));
    equal(task.steps[0]?.session?.length, 36);
  }
  const flags = (await readText(rig, "flags")).trimEnd().split("\n");
  deepEqual(flags.map((line) => line.split(" ")[0]), ["--new", "--again", "--new"]);
  equal(flags[1]?.split(" ")[1], flags[0]?.split(" ")[1]);
  ok(flags[2]?.split(" ")[1] !== flags[0]?.split(" ")[1]);
  equal(await readText(rig, "places"), "/workspace\n".repeat(3));
});

sandboxed("a retry goes on where it was cut off", async (rig) => {
  await Deno.writeTextFile(`${rig.workspace}/fail`, "");
  const { state, task } = await rig.all(inSession("'k'"), agents(KEEPS));
  deepEqual([state, task.steps[0]?.attempt], ["succeeded", 2]);
  match(await readText(rig, "prompts"), /^workYou were cut off.*\n\nwork$/s);
});

sandboxed(
  "a session that the agent has lost begins anew, once, and the log says so",
  async (rig) => {
    await rig.all(inSession("'k'"), agents(KEEPS));
    await Deno.remove(rig.dirs.sessions, { recursive: true });
    const { state, task } = await rig.all(inSession("'k'"), agents(KEEPS));
    deepEqual([state, task.steps[0]?.attempt], ["succeeded", undefined]);
    match(
      await rig.printed(task.id, "fix", "svc"),
      /could not go on with its session, which begins anew/,
    );
    const flags = (await readText(rig, "flags")).trimEnd().split("\n");
    deepEqual(flags.map((line) => line.split(" ")[0]), ["--new", "--again", "--new"]);
  },
);

test("a session without a usable key is refused", async (rig) => {
  for (
    const [key, why] of [["''", /is empty/], ["payload.nothing", /cannot be evaluated/]] as const
  ) {
    const { state, reason } = await rig.all(
      steps(`agent: a, session: {key: "${key}"}`),
      agents(agent("a", [GOOD])),
    );
    equal(state, "failed");
    match(reason, why);
  }
});

/** Takes the one seat of agent `a` for the first step of a task, as a step that runs. */
async function takeSeat(rig: RunRig, taskId: string): Promise<void> {
  const agents = [{ name: "a", seats: 1 }];
  const asked = { taskId, position: 0, project: "default", agents, now: Date.now() };
  equal((await rig.store.takeTurn(asked)).is, "held");
}

/** Parks a task whose run has ended with this result. */
async function park(rig: RunRig, id: string, { parked, isEnding }: TaskResult): Promise<void> {
  const parking = { ...parked, steps: [], now: Date.now(), ...defined({ isEnding }) };
  await rig.store.parkTask(id, parking);
}

const ONE_SEAT = agents(agent("a", [GOOD], { maxParallel: 1 }));
const TWICE = `{steps: [{id: fix, agent: a, prompt: p}], finally: [{id: z, agent: a, prompt: p}]}`;

test("a step under finally waits without a worker, behind no step of its own task that was cancelled", async (rig) => {
  const first = await rig.claim(steps("agent: a"), ONE_SEAT);
  await takeSeat(rig, first.task.id);
  const second = await rig.claim(TWICE, ONE_SEAT);
  await park(rig, second.task.id, await rig.run(second));
  await rig.store.cancelTask(second.task.id, { reason: "enough", now: Date.now() });
  const cancel = AbortSignal.abort("enough");
  const ending = await rig.run(await rig.reclaim(second.task.id), { cancel });
  deepEqual([ending.state, ending.isEnding], ["waiting", true]);
  await park(rig, second.task.id, ending);
  deepEqual((await rig.store.claimTasks(10, Date.now())).tasks, []);
  deepEqual(stepsOf((await rig.task(second.task.id)).steps), [
    "fix cancelled: cancelled",
    'z waiting: waits for a turn of Agent "a"',
  ]);
  equal((await rig.run(first)).state, "succeeded");
  equal((await rig.run(await rig.reclaim(second.task.id), { cancel })).state, "cancelled");
  equal((await rig.task(second.task.id)).steps[1]?.state, "succeeded");
  deepEqual(await rig.store.listAgentUse("default", Date.now()), []);
});

test("a step that the daemon interrupted, and that is cancelled then, keeps no seat from finally", async (rig) => {
  const claimed = await rig.claim(TWICE, ONE_SEAT);
  await takeSeat(rig, claimed.task.id);
  const { state } = await rig.run(claimed, { cancel: AbortSignal.abort("enough") });
  equal(state, "cancelled");
  equal((await rig.task(claimed.task.id)).steps[1]?.state, "succeeded");
});

test("the time that a step waits for a limit does not begin anew each time it asks", async (rig) => {
  const one = agents(agent("a", [GOOD]));
  const limitFor = (minutes: number) =>
    rig.store.noteLimit(
      { project: "default", agent: "a", until: Date.now() + minutes * 60_000, reason: "x" },
      Date.now(),
    );
  await limitFor(3);
  const claimed = await rig.claim(steps("agent: a, timeout: 5m"), one);
  const first = await rig.run(claimed);
  equal(first.state, "waiting");
  await park(rig, claimed.task.id, { ...first, parked: { until: Date.now() - 1 } });
  const again = await rig.reclaim(claimed.task.id);
  const { startedAt = 0 } = again.task;
  const later = { ...again, task: { ...again.task, startedAt: startedAt - 3 * 60_000 } };
  const { state, reason } = await rig.run(later);
  deepEqual([state, /later than the step's timeout allows$/.test(reason)], ["failed", true]);
});

sandboxed("an agent that names many sessions has few of them stored", async (rig) => {
  const names = JSON.stringify({
    kind: "Agent",
    metadata: { name: "a" },
    spec: {
      command: `: $SVC_SESSION_FLAGS; for n in 1 2 3 4 5 6 7 8; do
          echo '{"type":"system","subtype":"init","session_id":"id-'$n'"}'; sleep 0.1
        done
        echo '${JSON.stringify(GOOD)}'`,
      output: "claude",
      resume: { again: "--again $SVC_SESSION" },
    },
  });
  const saved: (string | undefined)[] = [];
  const store = {
    ...rig.host.store,
    saveSession: async (id: string, agentId: string | undefined) => {
      saved.push(agentId);
      await rig.store.saveSession(id, agentId);
    },
  };
  const claimed = await rig.claim(inSession("'k'"), agents(names));
  equal((await rig.run(claimed, {}, { ...rig.host, store })).state, "succeeded");
  deepEqual(saved, ["id-1", "id-8"]);
});
