/**
 * Budgets of agents in tasks that run, with real processes: who waits, who fails, what is counted, and
 * what is never stopped.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import type { Incident } from "../../src/store/incident_records.ts";
import { type RunRig, runRig } from "../rigs/run_rig.ts";

function test(name: string, body: (rig: RunRig) => Promise<void>): void {
  Deno.test(name, async () => {
    await using rig = await runRig();
    await body(rig);
  });
}

const result = (more: object = {}) => ({
  type: "result",
  is_error: false,
  result: "Done.",
  ...more,
});

/** An Agent that prints this event and has these fields. */
function agent(name: string, event: object, more: object = {}): string {
  const command = `cat > prompt.${name}; echo "$SVC_BUDGET_USD" > usd.${name}; cat <<'EVENTS'\n${
    JSON.stringify(event)
  }\nEVENTS\n`;
  return JSON.stringify({
    kind: "Agent",
    metadata: { name },
    spec: { command, output: "claude", timeout: 60, ...more },
  });
}

const project = (spec: object) =>
  JSON.stringify({ kind: "Project", metadata: { name: "default" }, spec });
const all = (...documents: string[]) => ({ more: documents.join("\n---\n") });
const steps = (fields: string) => `{steps: [{id: fix, prompt: "work", ${fields}}]}`;

/** What is spent, set aside and of unknown cost, by resource and unit. */
async function spent(rig: RunRig): Promise<Record<string, readonly number[]>> {
  const uses = await rig.store.listBudgetUse("default");
  return Object.fromEntries(
    uses.map(({ scope, unit, spent, reserved, unknown }) =>
      [`${scope} ${unit}`, [spent, reserved, unknown]] as const
    ),
  );
}

const USD = [{ usd: 1, per: "day", perRun: 0.4 }];

test("a run counts as what it cost, and the step after it waits for the window", async (rig) => {
  const told: Incident[] = [];
  rig.host.events.on("incidentHappened", (incident) => void told.push(incident));
  const cheap = all(agent("a", result({ total_cost_usd: 0.61 }), { budget: USD }));
  const first = await rig.all(steps("agent: a"), cheap);
  equal(first.state, "succeeded");
  deepEqual(await spent(rig), { "agent/a usd": [610_000, 0, 0] });
  equal((await Deno.readTextFile(`${rig.workspace}/usd.a`)).trim(), "0.4");
  const second = await rig.all(steps("agent: a"), cheap);
  equal(second.state, "waiting");
  const { until = 0 } = second.parked ?? {};
  equal(until % 86_400_000, 0, "midnight of UTC");
  match(
    second.task.steps[0]?.reason ?? "",
    /^waits until \S+Z, when the budget of agent\/a \(1 usd per day\) resets$/,
  );
  deepEqual(told.map(({ kind, reason }) => [kind, reason.split(":")[0]]), [
    ["budget.reached", "The budget of agent/a (1 usd per day) is reached"],
  ]);
  // who raises it lets the task go on
  await rig.store.parkTask(second.task.id, { steps: [], until, now: Date.now() });
  const raised = [{ usd: 50, per: "day", perRun: 0.4 }];
  const claimed = await rig.claim(
    "{steps: [{id: other, run: 'true'}]}",
    all(agent("a", result({ total_cost_usd: 0.2 }), { budget: raised })),
  );
  equal((await rig.run(claimed)).state, "succeeded");
  await rig.store.askBudgetsAgain("default", 5);
  equal((await rig.run(await rig.reclaim(second.task.id))).state, "succeeded");
  deepEqual(await spent(rig), { "agent/a usd": [1_220_000, 0, 0] });
});

test("with onBudget: fail the step says which budget, and when it resets", async (rig) => {
  const { state, task } = await rig.all(
    "{steps: [{id: one, agent: a, prompt: x}, {id: two, agent: a, prompt: x, retry: {attempts: 3}}]}",
    all(agent("a", result()), project({ budget: [{ runs: 1, per: "month" }], onBudget: "fail" })),
  );
  equal(state, "failed");
  deepEqual(task.steps.map((step) => step.state), ["succeeded", "failed"]);
  match(
    task.steps[1]?.reason ?? "",
    /^Agent "a" has reached the budget of project\/default \(1 run per month\), which resets at/,
  );
  deepEqual([task.steps[1]?.failure, task.steps[1]?.attempt], ["budget", undefined]);
});

test("nobody knows what a run cost: it counts as perRun, and the log says so", async (rig) => {
  for (const event of [result(), result({ total_cost_usd: -5 })]) {
    const budget = [...USD, { tokens: 1000, per: "hour", perRun: 70 }];
    const { state, task } = await rig.all(steps("agent: a"), all(agent("a", event, { budget })));
    equal(state, "succeeded");
    const said = await rig.printed(task.id, "fix", "svc");
    match(
      said,
      /has not told its cost: 0\.40 usd count for the budget of agent\/a \(1 usd per day\)/,
    );
    match(said, /has not told its tokens: 70 tokens count for/);
  }
  deepEqual(await spent(rig), {
    "agent/a tokens": [140, 0, 2],
    "agent/a usd": [800_000, 0, 2],
  });
});

test("what an agent writes into its outputs changes nothing that is counted", async (rig) => {
  const lies = JSON.stringify({
    kind: "Agent",
    metadata: { name: "a" },
    spec: {
      command: `cat > /dev/null; echo cost_usd=0 >> $SVC_OUTPUT; echo '${
        JSON.stringify(
          result({ total_cost_usd: 0.3, usage: { input_tokens: 3, output_tokens: 4 } }),
        )
      }'`,
      output: "claude",
      budget: [...USD, { tokens: 1000, per: "day", perRun: 70 }],
    },
  });
  await rig.all(steps("agent: a"), all(lies));
  deepEqual(await spent(rig), { "agent/a tokens": [7, 0, 0], "agent/a usd": [300_000, 0, 0] });
});

test("steps without an agent are never stopped, nor is one whose agent has another budget", async (rig) => {
  const one = { budget: [{ runs: 1, per: "day" }] };
  const { state, task } = await rig.all(
    "{steps: [{id: a, agent: a, prompt: x}, {id: shell, run: 'true'}, {id: b, agent: b, prompt: x}, " +
      "{id: again, agent: a, prompt: x}]}",
    all(agent("a", result(), one), agent("b", result(), one)),
  );
  equal(state, "waiting");
  deepEqual(task.steps.map((step) => step.state), [
    "succeeded",
    "succeeded",
    "succeeded",
    "waiting",
  ]);
});

test("where an agent has no budget left the next one takes over", async (rig) => {
  const documents = all(
    agent("a", result(), { budget: [{ runs: 1, per: "day" }] }),
    agent("b", result()),
  );
  for (const by of ["a", "b"]) {
    const { task } = await rig.all(steps("agent: [a, b]"), documents);
    equal(task.steps[0]?.outputs?.["agent"], by);
  }
});

test("a step under finally does not wait for a budget", async (rig) => {
  const { state, task } = await rig.all(
    "{steps: [{id: one, agent: a, prompt: x}], finally: [{id: last, agent: a, prompt: x}]}",
    all(agent("a", result(), { budget: [{ runs: 1, per: "day" }] })),
  );
  equal(state, "failed");
  match(task.steps[1]?.reason ?? "", /a step under "finally" does not wait$/);
});

test("an agent that could not begin counts for nothing", async (rig) => {
  const { state } = await rig.all(
    steps("agent: a, workdir: nowhere"),
    all(agent("a", result(), { budget: [...USD, { runs: 5, per: "day" }] })),
  );
  equal(state, "failed");
  deepEqual(await spent(rig), { "agent/a runs": [0, 0, 0], "agent/a usd": [0, 0, 0] });
});

test("an agent for which the machine is short of something counts when it begins, once", async (rig) => {
  const budget = [...USD, { runs: 5, per: "day" }];
  const claimed = await rig.claim(steps("agent: a"), all(agent("a", result(), { budget })));
  const tokens = {
    issue: () => {
      throw new AppError("overloaded", "Too many open files");
    },
  };
  const short = { ...rig.host, tokens: tokens as unknown as typeof rig.host.tokens };
  for (let round = 0; round < 3; round++) {
    await rejects(rig.run(claimed, {}, short), { code: "overloaded" });
    deepEqual(await spent(rig), { "agent/a runs": [0, 0, 0], "agent/a usd": [0, 0, 0] });
  }
  equal((await rig.run(claimed)).state, "succeeded");
  deepEqual((await spent(rig))["agent/a runs"], [1, 0, 0]);
});

test("a run that the daemon's end cuts off counts, and the step runs again", async (rig) => {
  const slow = JSON.stringify({
    kind: "Agent",
    metadata: { name: "a" },
    spec: { command: "cat > /dev/null; touch begun; sleep 60", output: "claude", budget: USD },
  });
  const claimed = await rig.claim(steps("agent: a"), all(slow));
  const stop = new AbortController();
  const running = rig.run(claimed, { stop: stop.signal });
  while (!await Deno.stat(`${rig.workspace}/begun`).then(() => true, () => false)) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  deepEqual(await spent(rig), { "agent/a usd": [0, 400_000, 0] });
  stop.abort();
  equal((await running).state, "interrupted");
  deepEqual(await spent(rig), { "agent/a usd": [400_000, 0, 1] });
  ok((await rig.store.listAgentUse("default", Date.now())).some(({ held }) => held === 1));
});
