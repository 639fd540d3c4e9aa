/**
 * Budgets from outside: a daemon that is killed in the midst of a run, tasks that wait, and what people see.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { programTest } from "../helpers/program.ts";
import { until, untilFile } from "../helpers/until.ts";

const RESULT = { type: "result", is_error: false, result: "Done.", total_cost_usd: 0.25 };

/** An Agent that works until the file `go` is there, and then tells what it cost. */
const agent = (usd: number): Manifest => ({
  kind: "Agent",
  metadata: { name: "claude" },
  spec: {
    command: "cat > prompt; echo 1 > begun; until [ -e go ]; do sleep 0.05; done\n" +
      `echo '${JSON.stringify(RESULT)}'`,
    output: "claude",
    timeout: "5m",
    sandbox: "none",
    budget: [{ usd, per: "month", perRun: 1 }],
  },
});

const WORKFLOW: Manifest = {
  kind: "Workflow",
  metadata: { name: "record" },
  spec: { steps: [{ id: "before", run: "true" }, { id: "fix", agent: "claude", prompt: "p" }] },
};

/** An Agent with one run a month, that asks for more. */
const ASKING: Manifest = {
  kind: "Agent",
  metadata: { name: "claude" },
  spec: {
    command: "cat >> log",
    timeout: "5m",
    sandbox: "none",
    budget: [{ runs: 1, per: "month" }],
    onBudget: { ask: { by: ["socket"] } },
  },
};

async function fire(daemon: TestDaemon, n: number): Promise<string> {
  const { status, json } = await daemon.send("/webhook/now", { body: `{"n":${n}}` });
  equal(status, 200);
  return String(json["task_id"]);
}

/** What is spent, reserved, and of how many runs nobody knows it. */
async function standing(daemon: TestDaemon): Promise<readonly unknown[]> {
  const [budget] = await daemon.json("get", "budgets") as unknown as Record<string, unknown>[];
  return [budget?.["spent"], budget?.["reserved"], budget?.["unknown_runs"]];
}

/** Answers the only open question. */
async function answer(daemon: TestDaemon, ...given: readonly string[]) {
  const [one] = await daemon.json("get", "approvals") as unknown as Record<string, unknown>[];
  return await daemon.svc(["task", ...given, "--digest", String(one?.["digest"]), "--yes"]);
}

programTest("more of a budget is asked for once, and a yes outlives a kill", async (program) => {
  await using directory = await initDataDirectory(program);
  const ids: string[] = [];
  {
    await using daemon = await startDaemon(program, { directory });
    await daemon.apply(ASKING, WORKFLOW, trigger("now", { webhook: { allowUnsigned: true } }));
    await fire(daemon, 1);
    equal((await daemon.settled())[0]?.state, "succeeded");
    for (const n of [2, 3]) {
      const id = await fire(daemon, n);
      ids.push(id);
      await until("a task that waits", async () => {
        const task = await daemon.json("get", "task", id) as Record<string, unknown>;
        return task["state"] === "waiting" ? true : undefined;
      });
    }
    const table = await daemon.svc(["get", "approvals"]);
    match(table.stdout, /fix +.*Another 1 run this month for agent\/claude\?/);
    equal(table.stdout.trim().split("\n").length, 2, "one question");
    match(
      (await daemon.svc(["describe", "task", ids[0] ?? ""])).stdout,
      /step fix asks socket for another 1 run until/,
    );
    // nobody takes the task between the answer and the kill
    equal((await daemon.svc(["pause", "--reason", "upgrade"])).code, 0);
    const said = await answer(daemon, "approve", ids[0] ?? "");
    deepEqual([said.code, said.stderr], [0, ""]);
    await daemon.crash();
  }
  await using daemon = await startDaemon(program, { directory });
  equal((await daemon.svc(["resume"])).code, 0);
  await until("the first of them", async () => {
    const task = await daemon.json("get", "task", ids[0] ?? "") as Record<string, unknown>;
    return task["state"] === "succeeded" ? true : undefined;
  });
  const next = await until("the next question", async () => {
    const [one] = await daemon.json("get", "approvals") as unknown as Record<string, unknown>[];
    return one;
  });
  equal(next["task_id"], ids[1]);
  const table = await daemon.svc(["get", "budgets"]);
  match(table.stdout, /agent\/claude +1 run per month \+1 +2 \(100%\) .* 1 +in /);
  equal((await answer(daemon, "reject", ids[1] ?? "", "--comment", "enough")).code, 0);
  const failed = (await daemon.settled()).find(({ id }) => id === ids[1]);
  equal(failed?.state, "failed");
  match(failed?.reason ?? "", /has reached the budget .*, and more was rejected by .*: enough$/);
});

programTest(
  "a budget outlives a kill in the midst of a run, and who raises it lets tasks go on",
  async (program) => {
    await using directory = await initDataDirectory(program);
    {
      await using daemon = await startDaemon(program, { directory });
      await daemon.apply(agent(2), WORKFLOW, trigger("now", { webhook: { allowUnsigned: true } }));
      deepEqual(await standing(daemon), [0, 0, 0]);
      await fire(daemon, 1);
      await untilFile(`${daemon.workspace}/begun`);
      deepEqual(await standing(daemon), [0, 1, 0]);
      await daemon.crash();
    }
    await using daemon = await startDaemon(program, { directory });
    await until("the next run", async () => (await standing(daemon))[2] === 1 ? true : undefined);
    deepEqual(await standing(daemon), [1, 1, 1]);
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    equal((await daemon.settled())[0]?.state, "succeeded");
    deepEqual(await standing(daemon), [1.25, 0, 1]);

    const second = await fire(daemon, 2);
    const waiting = await until("a task that waits", async () => {
      const task = await daemon.json("get", "task", second) as Record<string, unknown>;
      return task["state"] === "waiting" ? task : undefined;
    });
    match(String(waiting["reason"]), /^waits until \S+Z, when a budget for agent claude resets$/);
    const table = await daemon.svc(["get", "budgets"]);
    deepEqual([table.code, table.stderr], [0, ""]);
    const [head = "", row = ""] = table.stdout.split("\n");
    match(head, /^OF +LIMIT +USED +RESERVED +UNKNOWN +WAITING +RESETS/);
    match(row, /^agent\/claude +2 usd per month +1\.25 \(62%\) +1 run +1 +in /);
    match(
      (await daemon.svc(["task", "logs", second])).stderr,
      /waits until \S+, when the budget of agent\/claude \(2 usd per month\) resets/,
    );
    equal((await daemon.svc(["get", "budgets", "--watch"])).code, 2);

    await daemon.apply(agent(50));
    equal((await daemon.settled()).find(({ id }) => id === second)?.state, "succeeded");
    deepEqual(await standing(daemon), [1.5, 0, 1]);
  },
);
