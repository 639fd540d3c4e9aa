/**
 * `get --watch` and `task logs` as streams of a running daemon.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { GetInput, WatchLine } from "../../src/api/resource_operations.ts";
import type { LogEnd, LogEntry } from "../../src/api/task_operations.ts";
import { logPath } from "../../src/store/files/log_files.ts";
import { until } from "../helpers/until.ts";
import { MANIFEST } from "../rigs/webhook_rig.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const RUNNING = MANIFEST.replace("path: repo", "path: workspaces/default");

const workflow = (name: string, run = "true", project = "default") =>
  `{kind: Workflow, metadata: {name: ${name}, project: ${project}}, spec: {steps: [{id: one, run: "${run}"}]}}`;

/** Watches in the background; what it has seen so far, `name` and state where there is one. */
function watching(rig: ControlRig, input: GetInput) {
  const stop = new AbortController();
  const seen: string[] = [];
  const read = async () => {
    for await (const line of rig.client.stream("get.watch", input, stop.signal)) {
      const { items, names, deleted } = line as WatchLine;
      seen.push(...names.map((name, at) => `${name} ${items[at]?.["state"] ?? ""}`.trim()));
      seen.push(...deleted.map((name) => `${name} deleted`));
    }
  };
  let failed: { readonly error: unknown } | undefined;
  const over = read().catch((error) => {
    if (!stop.signal.aborted) failed = { error };
  });
  return {
    seen,
    has: (...expected: readonly string[]) =>
      until(expected.join(), () => {
        if (failed !== undefined) throw failed.error;
        return expected.every((one) => seen.includes(one)) || undefined;
      }),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await over;
    },
  };
}

controlTest(
  "get.watch of resources: what there is, then what is made, changed and deleted",
  async (rig) => {
    await rig.apply(workflow("a"), workflow("a", "true", "shop"));
    await using all = watching(rig, { what: "wf" });
    await using one = watching(rig, { what: "wf", name: "a" });
    await all.has("workflow/a");
    await one.has("workflow/a");
    await rig.apply(workflow("b"));
    await all.has("workflow/b");
    await rig.apply(workflow("a", "false"));
    await until("the change", () => one.seen.length === 2 ? true : undefined);
    await using gone = watching(rig, { what: "wf", name: "b" });
    await gone.has("workflow/b");
    await rig.client.call("delete", { targets: [{ what: "wf", names: ["b"] }] });
    await all.has("workflow/b deleted");
    await gone.has("workflow/b deleted");
    await rig.apply(workflow("b"));
    await until("it to be back", () => gone.seen.length === 3 ? true : undefined);
    deepEqual(all.seen.slice(0, 5), [
      "workflow/a",
      "workflow/a",
      "workflow/b",
      "workflow/a",
      "workflow/b deleted",
    ]);
    deepEqual(one.seen, ["workflow/a", "workflow/a"]);
  },
);

controlTest("get.watch of tasks sees them come, run and end", async (rig) => {
  await rig.apply(RUNNING);
  const before = String((await rig.post("push", '{"n":0}'))["task_id"]);
  await using tasks = watching(rig, { what: "tasks" });
  await tasks.has(`task/${before} succeeded`);
  await using failed = watching(rig, { what: "tasks", state: "failed" });
  const id = String((await rig.post("push", '{"n":1}'))["task_id"]);
  await tasks.has(`task/${id} succeeded`);
  await using one = watching(rig, { what: "task", name: id.slice(0, 26) });
  await one.has(`task/${id} succeeded`);
  deepEqual(failed.seen, []);
});

controlTest("get.watch refuses what get refuses, before it begins", async (rig) => {
  const first = (input: GetInput) => Array.fromAsync(rig.client.stream("get.watch", input));
  await rejects(first({ what: "nonsense" }), { code: "usage" });
  await rejects(first({ what: "task", name: "01ZZZZ" }), { code: "not_found" });
  await rejects(first({ what: "task", state: "nope" }), {
    code: "usage",
    message: /use one of pend/,
  });
  await rejects(first({ what: "wf", state: "failed" }), { code: "usage", message: /is for tasks/ });
  await rejects(first({ what: "task", before: "%" }), { code: "usage", message: /is not an id/ });
});

controlTest("get filters tasks by state and workflow, and reads on", async (rig) => {
  await rig.apply(RUNNING);
  const ids: string[] = [];
  for (const n of [1, 2, 3]) {
    ids.push(String((await rig.post("push", `{"n":${n}}`))["task_id"]));
  }
  const list = async (input: Partial<GetInput>) =>
    (await rig.client.call("get", { what: "task", ...input })).names;
  await until(
    "all to end",
    async () => (await list({ state: "succeeded" })).length === 3 ? true : undefined,
  );
  const [a = "", b = "", c = ""] = ids;
  deepEqual(await list({ limit: 2 }), [`task/${c}`, `task/${b}`]);
  deepEqual(await list({ before: b }), [`task/${a}`]);
  deepEqual(await list({ before: b.toLowerCase() }), [`task/${a}`]);
  deepEqual(await list({ before: a }), []);
  deepEqual(await list({ state: "failed" }), []);
  deepEqual((await list({ workflow: "ci", state: "succeeded" })).length, 3);
  deepEqual(await list({ workflow: "other" }), []);
  const deliveries = await rig.client.call("get", { what: "deliveries", limit: 1 });
  const [newest = ""] = deliveries.names;
  const older = await rig.client.call("get", { what: "deliveries", before: newest.slice(9) });
  equal(older.names.length, 2);
});

const APART_MS = 600_000;

/** Writes a log as a run would, each chunk long after the one before. */
async function writeLog(
  rig: ControlRig,
  id: string,
  chunks: readonly (readonly [step: string, text: string])[],
) {
  const start = Date.now() - chunks.length * APART_MS - APART_MS / 2;
  const text = chunks.map(([step, text], index) =>
    `${JSON.stringify({ at: start + index * APART_MS, step, stream: "out", text })}\n`
  );
  await Deno.writeTextFile(logPath(rig.dirs.logs, id), text.join(""));
}

async function logs(
  rig: ControlRig,
  id: string,
  more: { tail?: number; since_secs?: number; contains?: string; step?: string } = {},
) {
  const input = { id, follow: false, ...more };
  const lines = await Array.fromAsync(rig.client.stream("task.logs", input)) as (
    | LogEntry
    | LogEnd
  )[];
  equal("state" in (lines.at(-1) ?? {}), true);
  return lines.flatMap((line) => "data" in line ? [`${line.step}:${atob(line.data)}`] : []);
}

/** What each step printed, from chunks that may end anywhere. */
function byStep(chunks: readonly string[]): Record<string, string> {
  const texts = { build: "", test: "" };
  for (const chunk of chunks) {
    const step = chunk.startsWith("build:") ? "build" : "test";
    texts[step] += chunk.slice(step.length + 1);
  }
  return texts;
}

controlTest(
  "a search keeps the beginning of a long line, and says what it left out",
  async (rig) => {
    await rig.apply(RUNNING);
    const id = String((await rig.post("push", "{}"))["task_id"]);
    await until(
      "its end",
      async () =>
        (await rig.client.call("task", { id }))["finished_at"] === null ? undefined : true,
    );
    const part = "x".repeat(100_000);
    const parts = Array.from({ length: 10 }, () => ["build", part] as const);
    const more = ["build", "\nnext needle\nneedle again "] as const;
    await writeLog(rig, id, [["build", "needle "], ...parts, more, ...parts]);
    for (const tail of [{}, { tail: 3 }]) {
      const found = await logs(rig, id, { contains: "needle", ...tail });
      deepEqual(found.map((line) => line.replace(/xx+/, "…")), [
        "build:needle … [svc: 737863 more bytes, shown without --grep]\n",
        "build:next needle\n",
        "build:needle again … [svc: 737869 more bytes, shown without --grep]",
      ]);
    }
    const whole = byStep(await logs(rig, id))["build"] ?? "";
    equal(whole.replaceAll(part, ""), "needle \nnext needle\nneedle again ");
  },
);

controlTest("task.logs with a tail: the last lines, whatever chunks they came in", async (rig) => {
  await rig.apply(RUNNING);
  const id = String((await rig.post("push", "{}"))["task_id"]);
  await until(
    "its end",
    async () => (await rig.client.call("task", { id }))["finished_at"] === null ? undefined : true,
  );
  await writeLog(rig, id, [
    ["build", "one\ntw"],
    ["test", "ok\nnot "],
    ["build", "o\nthree\nfo"],
    ["test", "ok\n"],
    ["build", "ur"],
  ]);
  const all = [
    "build:one\n",
    "build:two\n",
    "test:ok\n",
    "test:not ok\n",
    "build:three\n",
    "build:four",
  ];
  for (const tail of [0, 1, 2, 3, 6, 100]) {
    const [shown, wanted] = [await logs(rig, id, { tail }), all.slice(Math.max(0, 6 - tail))];
    deepEqual(byStep(shown), byStep(wanted), `${tail}`);
  }
  deepEqual(await logs(rig, id, { since_secs: 2 * APART_MS / 1000 }), ["build:ur"]);
  deepEqual(await logs(rig, id, { since_secs: 1000 * APART_MS / 1000 }), [
    "build:one\ntw",
    "test:ok\nnot ",
    "build:o\nthree\nfo",
    "test:ok\n",
    "build:ur",
  ]);
  const found = ["build:one\n", "build:two\n", "test:ok\n", "test:not ok\n", "build:four"];
  for (const tail of [undefined, 0, 1, 2, 4, 5]) {
    const more = tail === undefined ? {} : { tail };
    deepEqual(
      await logs(rig, id, { contains: "O", ...more }),
      found.slice(found.length - (tail ?? found.length)),
    );
  }
  deepEqual(await logs(rig, id, { contains: "O", step: "build", since_secs: 1e6 }), [
    "build:one\n",
    "build:two\n",
    "build:four",
  ]);
  const page = await rig.client.call("task.log.read", { id, limit: 2, step: "build" });
  deepEqual(page.lines.map(({ step, stream, text, open }) => [step, stream, text, open]), [
    ["build", "out", "three", undefined],
    ["build", "out", "four", true],
  ]);
  deepEqual([page.at_start, page.at_end, page.end], [false, true, page.size]);
  const at = page.lines[0]?.at ?? "";
  const from = await rig.client.call("task.log.read", { id, at });
  deepEqual(from.lines.at(0), page.lines.at(0));
  const first = await rig.client.call("task.log.read", { id, after: 0, contains: "OK", limit: 1 });
  deepEqual(first.lines.map(({ text }) => text), ["ok"]);
  await rejects(rig.client.call("task.log.read", { id, before: 9, after: 9 }), { code: "usage" });
  await rejects(rig.client.call("task.log.read", { id, at: "noon" }), { code: "usage" });
  await rejects(rig.client.call("task.log.read", { id, step: "no" }), { code: "usage" });
  await rejects(logs(rig, id, { tail: -1 }), { code: "invalid" });
  const unknown = Array.fromAsync(
    rig.client.stream("task.logs", { id, follow: false, step: "no" }),
  );
  await rejects(unknown, {
    code: "usage",
    message: `Task ${id} has no step "no": its steps are build`,
  });
});
