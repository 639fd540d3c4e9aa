/**
 * `svc task cancel` and `svc task retry` with filters: they ask first, how many that concerns, and
 * tell of each task.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { MatchingLine } from "../../src/api/task_operations.ts";
import { command as cancel } from "../../src/cli/commands/task_cancel.ts";
import { command as retry } from "../../src/cli/commands/task_retry.ts";
import { PROGRAM } from "../../src/cli/run.ts";
import { contextOf } from "../rigs/command_context.ts";
import { screen } from "../rigs/screen.ts";

interface Given {
  readonly named?: readonly string[];
  readonly options?: Record<string, unknown>;
  /** What the daemon answers where it is no dry run. */
  readonly lines?: readonly MatchingLine[];
  /** What the person types; absent where there is nobody. */
  readonly typed?: string;
}

/** Runs one of the commands against a daemon that finds two tasks. */
async function run(command: typeof cancel, given: Given) {
  const { named = [], options = {}, lines = [], typed } = given;
  const { io, text } = screen(false, {
    inIsTerminal: typed !== undefined,
    stdin: () => ReadableStream.from([new TextEncoder().encode(typed ?? "")]),
    onStop: () => ({ [Symbol.dispose]: () => {} }),
  } as Partial<Parameters<typeof screen>[1]>);
  const asked: (readonly [string, unknown])[] = [];
  const client = {
    call: (name: string, input: unknown) => {
      asked.push([name, input]);
      return Promise.resolve({ tasks: [], id: "NEW", note: "" });
    },
    async *stream(name: string, input: { dry_run?: boolean; ids?: readonly string[] }) {
      asked.push([name, input]);
      await Promise.resolve();
      if (name === "task.wait") {
        for (const id of input.ids ?? []) yield { task: { id, state: "cancelled", reason: "" } };
        return;
      }
      if (input.dry_run !== true) return yield* lines;
      yield { total: 2 };
      yield { task_id: "A", state: "pending" };
      yield { task_id: "B", state: "running" };
    },
    [Symbol.dispose]: () => {},
  };
  const context = contextOf(command, io, { positional: named, options });
  Object.assign(context, { client: () => client });
  const code = await command.run(context, PROGRAM);
  return { code: code ?? 0, asked, ...text };
}

const CANCELLED: readonly MatchingLine[] = [
  { total: 2 },
  { task_id: "A", state: "cancelled", result: "cancelled" },
  { task_id: "B", state: "running", result: "stopping" },
];
const FILTERS = { trigger: "push", state: "pending", since: "1h" };
const ASKED = { trigger: "push", state: "pending", since_secs: 3600 };

Deno.test("svc task cancel asks how many, then waits for those that ran", async () => {
  const options = { ...FILTERS, reason: "r" };
  const done = await run(cancel, { options, lines: CANCELLED, typed: "y\n" });
  deepEqual([done.code, done.err], [0, "Cancel 2 tasks? [y/N] "]);
  equal(done.out, "task/A cancelled\ntask/B cancelled\n");
  deepEqual(done.asked, [
    ["task.cancel.matching", { ...ASKED, reason: "r", dry_run: true }],
    ["task.cancel.matching", { ...ASKED, reason: "r", dry_run: false }],
    ["task.wait", { ids: ["B"] }],
  ]);
});

Deno.test("without a yes nothing is done, and --yes asks nothing", async () => {
  for (const [command, typed] of [[cancel, "n\n"], [retry, "\n"], [cancel, undefined]] as const) {
    const given = typed === undefined ? {} : { typed };
    await rejects(run(command, { options: FILTERS, lines: CANCELLED, ...given }), {
      code: "refused",
      message: /^Nothing was changed: /,
    });
  }
  const done = await run(cancel, { options: { ...FILTERS, yes: true }, lines: CANCELLED });
  deepEqual([done.code, done.err], [0, ""]);
  equal(done.asked.length, 2, "cancel and wait");
});

Deno.test("--dry-run tells which tasks match, and changes nothing", async () => {
  for (const command of [cancel, retry]) {
    const options = { ...FILTERS, dryRun: true };
    const dry = await run(command, { options, lines: CANCELLED });
    deepEqual([dry.code, dry.out, dry.err], [0, "task/A pending\ntask/B running\n", ""]);
    equal(dry.asked.length, 1);
    const json = await run(command, { options: { ...options, output: "json" }, lines: CANCELLED });
    deepEqual(JSON.parse(json.out), [
      { task_id: "A", state: "pending" },
      { task_id: "B", state: "running" },
    ]);
  }
});

Deno.test("svc task retry tells of each task, and ends with 1 where one could not be retried", async () => {
  const lines = [
    { total: 2 },
    { task_id: "A", state: "failed", new_task_id: "N", note: "all of its steps run again" },
    { task_id: "B", state: "failed", error: "cannot\u001b[2J run" },
  ];
  const done = await run(retry, { options: { state: "failed" }, lines, typed: "yes\n" });
  equal(done.code, 1);
  equal(done.out, "task/A retried as task/N\ntask/B not retried: cannot [2J run\n");
  equal(done.err, "Retry 2 tasks? [y/N] all of its steps run again\n");
  const json = await run(retry, { options: { state: "failed", yes: true, output: "json" }, lines });
  deepEqual(JSON.parse(json.out), lines.slice(1));
});

Deno.test("tasks or filters, one of both", async () => {
  const usage = async (command: typeof cancel, given: Given, message: RegExp) =>
    await rejects(run(command, given), { code: "usage", message });
  for (const command of [cancel, retry]) {
    await usage(command, {}, /^TASK is missing: name tasks, or all with --trigger/);
    await usage(command, { options: { project: "shop" } }, /^TASK is missing/);
    await usage(command, { named: ["A"], options: FILTERS }, /not both$/);
    await usage(command, { named: ["A"], options: { dryRun: true } }, /^--dry-run tells which/);
  }
  await usage(retry, { options: { ...FILTERS, from: "deploy" } }, /^--from is for one task/);
  deepEqual((await run(retry, { named: ["A"] })).asked, [["task.retry", { id: "A" }]]);
  deepEqual((await run(cancel, { named: ["A", "B"] })).asked, [["task.cancel", {
    ids: ["A", "B"],
  }]]);
});
