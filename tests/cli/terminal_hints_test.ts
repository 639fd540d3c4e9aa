/**
 * What only a person at a terminal is told: that a command waits, and that a list goes on.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Client } from "../../src/api/client.ts";
import type { TaskRecord } from "../../src/api/records.ts";
import type { WaitLine } from "../../src/api/task_operations.ts";
import { command as get } from "../../src/cli/commands/get.ts";
import { command as inbox } from "../../src/cli/commands/task_inbox.ts";
import { command as plan } from "../../src/cli/commands/task_plan.ts";
import { PROGRAM } from "../../src/cli/run.ts";
import { waitForTasks } from "../../src/cli/wait_for_tasks.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { contextOf } from "../rigs/command_context.ts";
import { screen } from "../rigs/screen.ts";
import { plannedStep } from "../helpers/planned_step.ts";

/** A client whose streams give these lines, a number being a pause in milliseconds. */
function streaming(lines: readonly (WaitLine | number)[], clock: ManualClock): Client {
  return {
    async *stream() {
      for (const line of lines) {
        if (typeof line !== "number") yield line;
        else await clock.advance(line);
      }
    },
  } as unknown as Client;
}

const task = (id: string, state = "succeeded") => ({ task: { id, state, reason: "" } });

async function wait(lines: readonly (WaitLine | number)[], isTerminal: boolean) {
  const { io, text } = screen(isTerminal);
  const clock = new ManualClock();
  const ended: string[] = [];
  const late = await waitForTasks(["A", "B"], {
    io,
    clock,
    client: streaming(lines, clock),
    signal: new AbortController().signal,
    onEnd: ({ id }) => void ended.push(id),
  });
  return { ...text, ended, late };
}

Deno.test("waiting for tasks says so on a terminal after a second, and clears it away", async () => {
  const found = await wait([{ open: 2 }, 1000, task("A"), task("B")], true);
  const [first, second] = ["Waiting for the end of 2 tasks …", "Waiting for the end of the task …"];
  equal(found.err, `${first}\r\x1b[K${second}\r\x1b[K`);
  deepEqual([found.ended, found.late], [["A", "B"], []]);
});

Deno.test("waiting for tasks says nothing that is over within a second, nor without a terminal", async () => {
  equal((await wait([{ open: 2 }, 999, task("A"), task("B")], true)).err, "");
  equal((await wait([{ open: 2 }, 1200, task("A"), task("B")], false)).err, "");
});

Deno.test("waiting for tasks: those that are late, and a daemon that goes down meanwhile", async () => {
  const late = { id: "B", state: "pending", reason: "waits" } as unknown as TaskRecord;
  const timedOut = { timed_out: ["B"], tasks: [late] };
  deepEqual((await wait([{ open: 2 }, task("A"), timedOut], false)).late, [late]);
  await rejects(wait([{ open: 2 }, task("A")], false), { code: "unreachable" });
  await rejects(wait([], false), { code: "unreachable" });
});

/** What a command prints, its calls all answered with `answer`. */
async function run(
  command: typeof get,
  { positional, options, answer, isTerminal }: {
    positional: readonly string[];
    options: Record<string, unknown>;
    answer: unknown;
    isTerminal: boolean;
  },
) {
  const { io, text } = screen(isTerminal);
  const context = contextOf(command, io, { positional, options });
  const client = { call: () => Promise.resolve(answer), [Symbol.dispose]: () => {} };
  Object.assign(context, { client: () => client });
  await command.run(context, PROGRAM);
  return text;
}

const listing = (count: number) => {
  const ids = Array.from({ length: count }, (_, i) => `01K${i}`);
  return {
    names: ids.map((id) => `task/${id}`),
    items: ids.map((id) => ({ id })),
    columns: [{ header: "ID", wide: false }],
    rows: ids.map((id) => [id]),
  };
};

async function hint(answer: unknown, options: Record<string, unknown>, isTerminal = true) {
  const given = { output: "table", ...options };
  return (await run(get, { positional: ["x"], options: given, answer, isTerminal })).err;
}

Deno.test("svc get says on a terminal how to read on when the page is full", async () => {
  const full = { ...listing(2), more_before: "01K1" };
  equal(await hint(full, { limit: "2" }), "There may be more: add --before 01K1\n");
  equal(await hint(full, { limit: "2" }, false), "");
  equal(await hint(listing(2), { limit: "2" }), "");
  const cut = { ...listing(2), is_cut: true };
  equal(await hint(cut, { limit: "2" }), "There are more: add a higher --limit\n");
});

Deno.test("svc task inbox is a table on a terminal, and lines elsewhere", async () => {
  const message = { text: "a\x1b[2J\nb", from: "operator", at: "x" };
  const answer = { id: "A", messages: [{ position: 0, created_at: "2026-01-02", message }] };
  const shown = (isTerminal: boolean) =>
    run(inbox, { positional: ["A"], options: {}, answer, isTerminal });
  equal((await shown(true)).out, "AT          FROM      TEXT\n2026-01-02  operator  a [2J b\n");
  equal((await shown(false)).out, `${JSON.stringify(message)}\n`);
});

Deno.test("svc task plan is a table that fits, and says where a task never got a plan", async () => {
  const answer = {
    id: "A",
    planned: true,
    reason: "waits for a worker (4 of 4 busy)",
    timeout_secs: 21_600,
    timeout_from: "task-timeout",
    steps: [
      plannedStep("fetch", { timeout_secs: 3600, timeout_from: "step-timeout" }),
      plannedStep("write", { agent: "writer", needs: ["fetch", "x"], when: "n > 1\n" }),
      plannedStep("tell", {
        finally: true,
        needs: ["write"],
        timeout_secs: 300,
        timeout_from: "step",
        attempts: 3,
      }),
    ],
  };
  const shown = (answer: unknown) =>
    run(plan, { positional: ["A"], options: {}, answer, isTerminal: true });
  const planned = await shown(answer);
  equal(
    planned.out,
    "STEP   RUNS    AFTER     TIMEOUT            ATTEMPTS  WHEN\n" +
      "fetch  shell             1h (step-timeout)  1\n" +
      "write  age…er  fetch, x                     1         n > 1\n" +
      "tell   she…ly  write     5m                 3\n" +
      "\nThe whole task: 6h (task-timeout)\n",
  );
  const box = { name: null, default: true, network: "all" };
  const [fetch, ...others] = answer.steps;
  const held = [{ ...fetch, sandbox: "none" }, ...others.map((one) => ({ ...one, sandbox: box }))];
  equal(
    (await run(plan, {
      positional: ["A"],
      options: {},
      answer: { ...answer, steps: held },
      isTerminal: false,
    })).out.split("\n\n")[0],
    "STEP   RUNS            AFTER     TIMEOUT            ATTEMPTS  SANDBOX  WHEN\n" +
      "fetch  shell                     1h (step-timeout)  1         none\n" +
      "write  agent writer    fetch, x                     1         default  n > 1\n" +
      "tell   shell, finally  write     5m                 3         default",
  );
  equal(planned.err, "Task A: waits for a worker (4 of 4 busy)\n");
  const idle = [
    plannedStep("nap", { kind: "wait", wait_for: { any: [{ for: "10m" }, { message: true }] } }),
    plannedStep("ci", { kind: "wait", wait_for: { trigger: "checks" } }),
    plannedStep("ok", { kind: "approval" }),
  ];
  deepEqual(
    (await run(plan, {
      positional: ["A"],
      options: {},
      answer: { ...answer, steps: idle },
      isTerminal: false,
    })).out.split("\n").slice(1, 4).map((line) => line.split(/ {2,}/)[1]),
    ["waits 10m or for a message", "waits for an event of checks", "asks people"],
  );
  const unlimited = await shown({ ...answer, timeout_secs: null, timeout_from: null });
  ok(unlimited.out.endsWith("\nThe whole task: no timeout\n"), unlimited.out);
  const { out, err } = await shown({ id: "A", planned: false, steps: [] });
  deepEqual([out, err], [
    "",
    "Task A never got a plan, something it needs was missing: svc describe task/A says what\n",
  ]);
});
