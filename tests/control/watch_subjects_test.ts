/**
 * `watch`: several subjects in one stream of a running daemon.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { Stats } from "../../src/api/status_operations.ts";
import type { WatchedLine, WatchSubject } from "../../src/api/watch_operations.ts";
import { logPath } from "../../src/store/files/log_files.ts";
import { until } from "../helpers/until.ts";
import { MANIFEST } from "../rigs/webhook_rig.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";

const RUNNING = MANIFEST.replace("path: repo", "path: workspaces/default");

/** Watches in the background; everything that was seen, by key. */
function watching(rig: ControlRig, ...subjects: readonly WatchSubject[]) {
  const stop = new AbortController();
  const seen: Record<string, Record<string, unknown>[]> = {};
  let failed: { readonly error: unknown } | undefined;
  const read = async () => {
    for await (const line of rig.client.stream("watch", { subjects }, stop.signal)) {
      const { key = "", ...rest } = line as WatchedLine & { readonly key?: string };
      (seen[key] ??= []).push(rest);
    }
  };
  const over = read().catch((error) => {
    if (!stop.signal.aborted) failed = { error };
  });
  return {
    seen,
    /** Waits until `found` gives something of the lines with this key. */
    until: <T>(key: string, found: (lines: readonly Record<string, unknown>[]) => T | undefined) =>
      until(`a line of ${key}`, () => {
        if (failed !== undefined) throw failed.error;
        return found(seen[key] ?? []);
      }),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await over;
    },
  };
}

const namesIn = (lines: readonly Record<string, unknown>[]) =>
  lines.flatMap(({ names }) => names as string[] ?? []);

controlTest(
  "watch: a list, a task and the daemon in one stream, each with its key",
  async (rig) => {
    await rig.apply(RUNNING);
    const first = String((await rig.post("push", '{"n":1}'))["task_id"]);
    await using page = watching(
      rig,
      { key: "all", get: { what: "deliveries", limit: 10 } },
      { key: "one", task: first },
      { key: "daemon", status: true },
      { key: "flows", get: { what: "workflows" } },
    );
    await page.until(
      "one",
      (lines) => lines.find(({ task }) => (task as { state: string }).state === "succeeded"),
    );
    const state = await page.until(
      "daemon",
      ([line]) => line?.["status"] as Record<string, unknown>,
    );
    deepEqual(state["caller"], { name: "socket", role: "admin" });
    const [list] = await page.until("all", (lines) => lines[0] && lines);
    equal(list?.["whole"], true);
    equal((list?.["items"] as unknown[]).length, 1);
    deepEqual(Object.keys(list ?? {}).toSorted(), ["cursor", "deleted", "items", "names", "whole"]);
    await rig.post("push", '{"n":2}');
    await page.until("all", (lines) => namesIn(lines).length >= 2 || undefined);
    equal(page.seen["all"]?.[1]?.["whole"], false);
    await page.until("daemon", (lines) => lines[1]);
    deepEqual(await page.until("flows", (lines) => lines[0] && namesIn(lines)), ["workflow/ci"]);
  },
);

const LOUD = RUNNING.replace('run: "true"', 'run: "while ! [ -e go ]; do sleep 0.1; done; seq 3"');

controlTest("watch: the lines of a log as they come, from any place, and its end", async (rig) => {
  await rig.apply(LOUD);
  const id = String((await rig.post("push", "{}"))["task_id"]);
  const write = async (n: number, text: string, stream = "out") =>
    await Deno.writeTextFile(
      logPath(rig.dirs.logs, id),
      `${JSON.stringify({ at: Date.now(), step: "build", stream, text })}\n`,
      { append: true, create: n === 1 },
    );
  await until(
    "it to run",
    async () => (await rig.client.call("task", { id }))["state"] === "running" ? true : undefined,
  );
  await write(1, "one\ntwo\n");
  await write(2, '{"of":"an agent"}\n', "raw");
  await using page = watching(
    rig,
    { key: "all", log: id },
    { key: "step", log: id, step: "no" },
    { key: "raw", log: id, raw: true },
    { key: "now", stats: { minutes: 2 } },
  );
  const texts = (lines: readonly Record<string, unknown>[]) =>
    lines.flatMap(({ lines = [] }) => (lines as { text: string }[]).map(({ text }) => text));
  const first = await page.until("all", ([line]) => line);
  deepEqual(texts([first]), ["one", "two"]);
  equal(first["over"], false);
  deepEqual(texts([await page.until("raw", ([line]) => line)]), ['{"of":"an agent"}']);
  const refused = await page.until("step", ([line]) => line?.["error"] as { code: string });
  equal(refused.code, "usage");
  const figures = await page.until("now", ([line]) => line?.["stats"] as { step_secs: number });
  equal(figures.step_secs, 60);
  await using later = watching(rig, { key: "later", log: id, after: String(first["cursor"]) });
  deepEqual(texts([await later.until("later", ([line]) => line)]), []);
  await Deno.writeTextFile(`${rig.dirs.workspaces}/default/go`, "");
  const end = await page.until("all", (lines) => lines.find(({ over }) => over));
  await later.until("later", (lines) => lines.find(({ over }) => over));
  deepEqual(texts(page.seen["all"] ?? []).slice(0, 5), ["one", "two", "1", "2", "3"]);
  deepEqual(texts(later.seen["later"] ?? []).slice(0, 3), ["1", "2", "3"]);
  equal(end["end"], (await Deno.stat(logPath(rig.dirs.logs, id))).size);
});

controlTest("watch: the figures come again when they have changed", async (rig) => {
  await rig.apply(RUNNING);
  const accepted = (line: Record<string, unknown> | undefined) =>
    (line?.["stats"] as Stats | undefined)?.deliveries["accepted"]?.reduce((sum, n) => sum + n, 0);
  await using page = watching(rig, { key: "now", stats: { minutes: 60 } });
  await page.until("now", (lines) => accepted(lines.at(-1)) === 0 || undefined);
  await rig.post("push", "{}");
  await page.until("now", (lines) => accepted(lines.at(-1)) === 1 || undefined);
}, { skip: NOT_SLOW });

controlTest("watch: what is wrong with one subject is a line of that one", async (rig) => {
  await rig.apply(RUNNING);
  await using page = watching(
    rig,
    { key: "gone", task: "01ZZZZ" },
    { key: "bad", get: { what: "deliveries", state: "failed" } },
    { key: "nothing", get: { what: "nonsense" } },
    { key: "good", get: { what: "deliveries" } },
  );
  const codes = await Promise.all(
    ["gone", "bad", "nothing"].map((key) =>
      page.until(key, ([line]) => (line?.["error"] as { code: string })?.code)
    ),
  );
  deepEqual(codes, ["not_found", "usage", "usage"]);
  await page.until("good", (lines) => lines[0]);
  await rig.post("push", '{"n":1}');
  await page.until("good", (lines) => namesIn(lines).length === 1 || undefined);
  deepEqual(["gone", "bad", "nothing"].map((key) => page.seen[key]?.length), [1, 1, 1]);
});

controlTest("watch refuses subjects that cannot be told apart or say nothing", async (rig) => {
  const first = (...subjects: readonly WatchSubject[]) =>
    Array.fromAsync(rig.client.stream("watch", { subjects }));
  const list = { what: "task" };
  await rejects(first({ key: "a", get: list }, { key: "a", status: true }), {
    code: "usage",
    message: 'Two subjects have the key "a": give each its own',
  });
  await rejects(first({ key: "a" }), { code: "usage", message: /has none of them: give exactly/ });
  await rejects(first({ key: "a", get: list, status: true }), {
    code: "usage",
    message: /has get and status: give exactly/,
  });
  await rejects(first({ key: "a", get: list, step: "build" }), {
    code: "usage",
    message: /has step, which is for a log/,
  });
  await rejects(first({ key: "a", status: true, raw: true }), {
    code: "usage",
    message: /has raw, which is for a log/,
  });
  await rejects(first({ key: "a", status: true, after: "1" }), {
    code: "usage",
    message: /give get or log with it/,
  });
  await rejects(first({ key: "a", log: "latest", after: "no" }), { code: "invalid" });
  await rejects(first({ key: "a", log: "latest", after: "a1.7" }), {
    code: "usage",
    message: /is not the cursor of a log line/,
  });
  await rejects(first(), { code: "invalid" });
  await rejects(first({ key: "", status: true }), { code: "invalid" });
  await rejects(first({ key: "a", get: { what: "task", limit: 1001 } }), { code: "invalid" });
  const many = Array.from({ length: 17 }, (_, n) => ({ key: `${n}`, status: true }) as const);
  await rejects(first(...many), { code: "invalid" });
});

controlTest("watch: a reader that goes ends everything that was watched for it", async (rig) => {
  await rig.apply(RUNNING);
  {
    await using page = watching(
      rig,
      { key: "tasks", get: { what: "tasks" } },
      { key: "daemon", status: true },
    );
    await page.until("tasks", (lines) => lines[0]);
  }
  await rig.restart(); // takes no longer than without it: the rig waits for the end within limits
  deepEqual(rig.logged.filter((line) => line.includes('"level":"error"')), []);
});
