/**
 * Steps that start other workflows, from outside: what they give and get, how both ends reach each other,
 * and that no end is lost when the daemon is killed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { longTest, ONE_PROGRAM, programTest, ROOT } from "../helpers/program.ts";
import { until, untilFile } from "../helpers/until.ts";

const OPEN = { webhook: { allowUnsigned: true } };

/** A trigger on tasks that failed: of this workflow, or of any. */
const alarm = (name: string, of?: string): Manifest => ({
  kind: "Trigger",
  metadata: { name },
  spec: {
    event: {
      source: "task",
      task: { states: ["failed"], ...of === undefined ? {} : { workflow: of } },
    },
    action: { workflow: "alarm", workspace: "default" },
  },
});

const workflow = (name: string, spec: Record<string, unknown>): Manifest => ({
  kind: "Workflow",
  metadata: { name },
  spec,
});

/** A workflow that builds what it is told to, and says so. */
const BUILD = workflow("build", {
  env: { TARGET: "{{ inputs.target }}", WHO: "{{ payload.who }}" },
  steps: [
    { id: "make", run: 'echo "file=$TARGET by $WHO" >> "$SVC_OUTPUT"' },
  ],
  outputs: { file: "{{ steps.make.outputs.file }}" },
});

const SHIP = workflow("ship", {
  steps: [
    { id: "build", workflow: "build", with: { target: "{{ payload.target }}" } },
    {
      id: "told",
      env: { FILE: "{{ steps.build.outputs.file }}" },
      run: 'echo "got $FILE" && echo "seen=$FILE" >> "$SVC_OUTPUT"',
    },
  ],
  finally: [{ id: "z", run: "true" }],
});

type Seen = {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
  readonly workflow: string;
  readonly parent_id: string | null;
  readonly root_id?: string;
  readonly steps: readonly {
    readonly id: string;
    readonly state: string;
    readonly reason: string;
    readonly outputs?: Readonly<Record<string, string>>;
  }[];
};

async function send(daemon: TestDaemon, name: string, body = "{}"): Promise<string> {
  const { status, json } = await daemon.send(`/webhook/${name}`, { body });
  equal(status, 200);
  return String(json["task_id"]);
}

const task = async (daemon: TestDaemon, id: string): Promise<Seen> => {
  const found = (await daemon.tasks() as unknown as readonly Seen[]).find((one) => one.id === id);
  if (found === undefined) throw new Error(`no task ${id}`);
  return found;
};

const ended = (daemon: TestDaemon, id: string) =>
  until(`the end of ${id}`, async () => {
    const found = await task(daemon, id);
    return ["succeeded", "failed", "cancelled"].includes(found.state) ? found : undefined;
  });

const children = async (daemon: TestDaemon, id: string) =>
  (await daemon.tasks() as unknown as readonly Seen[]).filter(({ parent_id }) => parent_id === id);

const childIn = (daemon: TestDaemon, id: string, state: string) =>
  until(`a child that is ${state}`, async () => {
    const found = (await children(daemon, id)).find((one) => one.state === state);
    return found;
  });

programTest(
  "a step starts a workflow with inputs, waits without a worker, and gets its outputs",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM, { args: ["--workers", "1"] });
    await daemon.apply(BUILD, SHIP, trigger("ship", { ...OPEN, workflow: "ship" }));
    const id = await send(daemon, "ship", '{"target":"app","who":"ada"}');
    const done = await ended(daemon, id);
    equal(done.state, "succeeded", JSON.stringify(done));
    const [child, ...others] = await children(daemon, id);
    deepEqual(others, []);
    deepEqual((await daemon.json("get", "tasks", "--parent", id) as unknown[]).length, 1);
    deepEqual([child?.workflow, child?.state, child?.root_id], ["build", "succeeded", id]);
    deepEqual(done.steps[0]?.outputs, { file: "app by ada", task_id: child?.id });
    equal(done.steps[1]?.outputs?.["seen"], "app by ada");
    match(
      (await daemon.svc(["describe", `task/${id}`])).stdout,
      new RegExp(`Children[^]*${child?.id}`),
    );
    match(
      (await daemon.svc(["describe", `task/${child?.id}`])).stdout,
      new RegExp(`Started by: +${id}`),
    );
    match((await daemon.svc(["task", "plan", id])).stdout, /build +workflow build/);
    deepEqual(await daemon.json("get", "waits"), []);
    const retried = (await daemon.svc(["task", "retry", id, "--from", "told"])).stdout.trim();
    equal((await ended(daemon, retried)).state, "succeeded");
    deepEqual(await children(daemon, retried), [], "its step was kept");
    const again = (await daemon.svc(["task", "retry", id, "--from", "build"])).stdout.trim();
    equal((await ended(daemon, again)).state, "succeeded");
    equal((await children(daemon, again)).length, 1, "a new one");
    const checked = await daemon.svc(["db", "check"]);
    equal(checked.code, 0, checked.stdout + checked.stderr);
  },
);

programTest(
  "a child that fails, is cancelled or waits, and a parent that is cancelled",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await daemon.apply(
      workflow("bad", { steps: [{ id: "x", run: "exit 3" }] }),
      workflow("alarm", { steps: [{ id: "x", run: "true" }] }),
      alarm("on-any"),
      alarm("on-bad", "bad"),
      workflow("night", { steps: [{ id: "sleep", waitFor: { for: "10m" } }] }),
      workflow("call-bad", { steps: [{ id: "call", workflow: "bad" }, { id: "b", run: "true" }] }),
      workflow("brave", {
        steps: [{ id: "call", workflow: "bad", continueOnError: true }, { id: "b", run: "true" }],
      }),
      workflow("call-night", { steps: [{ id: "call", workflow: "night" }] }),
      workflow("hasty", { steps: [{ id: "call", workflow: "night", timeout: "1s" }] }),
      ...["call-bad", "brave", "call-night", "hasty"].map((name) =>
        trigger(name, { ...OPEN, workflow: name })
      ),
    );
    const bad = await ended(daemon, await send(daemon, "call-bad"));
    equal(bad.state, "failed");
    match(bad.reason, /^step "call": task \S+ \(workflow "bad"\) failed: step "x": exit code 3$/);
    const failing = (await children(daemon, bad.id)).find((one) => one.workflow === "bad");
    const rung = await until("both alarms", async () => {
      const all = await daemon.tasks() as unknown as readonly Seen[];
      const found = all.filter((one) => one.workflow === "alarm");
      return found.length === 2 ? found.map(({ parent_id }) => parent_id) : undefined;
    });
    deepEqual(rung.toSorted(), [bad.id, failing?.id].toSorted(), "once each");
    equal((await ended(daemon, await send(daemon, "brave"))).state, "succeeded");

    const stopped = await send(daemon, "call-night");
    const waiting = await childIn(daemon, stopped, "waiting");
    const parent = await task(daemon, stopped);
    deepEqual([parent.state, parent.reason], [
      "waiting",
      `step call waits for task ${waiting.id} (workflow "night")`,
    ], "a child that waits is not over");
    match((await daemon.svc(["get", "waits"])).stdout, /call +task/);
    const byHand = await daemon.svc(["task", "continue", stopped, "call", "--reason", "no"]);
    deepEqual([byHand.code, /svc get tasks --parent/.test(byHand.stderr)], [1, true]);
    equal((await daemon.svc(["task", "cancel", stopped, "--reason", "no more"])).code, 0);
    equal((await ended(daemon, waiting.id)).state, "cancelled");
    equal((await ended(daemon, stopped)).state, "cancelled");

    const second = await send(daemon, "call-night");
    const child = await childIn(daemon, second, "waiting");
    equal((await daemon.svc(["task", "cancel", child.id, "--reason", "wrong"])).code, 0);
    const failed = await ended(daemon, second);
    deepEqual([failed.state, failed.reason], [
      "failed",
      `step "call": task ${child.id} (workflow "night") was cancelled: cancelled by an operator: wrong`,
    ]);
    const late = await send(daemon, "hasty");
    const tooLate = await ended(daemon, late);
    match(tooLate.reason, /\(workflow "night"\) did not end within 1s$/);
    const left = (await children(daemon, late)).find((one) => one.workflow === "night");
    equal((await ended(daemon, left?.id ?? "")).state, "cancelled");
    const checked = await daemon.svc(["db", "check"]);
    equal(checked.code, 0, checked.stdout + checked.stderr);
  },
);

programTest(
  "a parent that is stopped or late ends its children, which hold the place that it needs",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const site = `${daemon.workspace}/site`;
    await Deno.mkdir(site);
    const run = `echo begun > ${daemon.workspace}/begun; sleep 300`;
    await daemon.apply(
      { kind: "Project", metadata: { name: "default" }, spec: { maxParallel: 1 } },
      {
        kind: "Workspace",
        metadata: { name: "site" },
        spec: { path: site, isolation: "copy", maxParallel: 1 },
      },
      workflow("hold", { steps: [{ id: "x", run }] }),
      workflow("middle", { steps: [{ id: "c", workflow: "hold" }] }),
      workflow("top", { steps: [{ id: "c", workflow: "middle" }] }),
      workflow("hasty", { steps: [{ id: "c", workflow: "hold", timeout: "2s" }] }),
      trigger("by-hand", { ...OPEN, workflow: "top", workspace: "site" }),
      trigger("paused", { ...OPEN, workflow: "top" }),
      trigger("late", { ...OPEN, workflow: "hasty" }),
      {
        kind: "Trigger",
        metadata: { name: "replaced" },
        spec: {
          event: { source: "webhook", ...OPEN },
          action: { workflow: "top", workspace: "default" },
          concurrency: { policy: "Replace", key: "'one'" },
        },
      },
    );
    /** Id of the parent, once the lowest child runs. */
    const held = async (name: string) => {
      const id = await send(daemon, name);
      await untilFile(`${daemon.workspace}/begun`);
      await Deno.remove(`${daemon.workspace}/begun`);
      return id;
    };
    const below = async () => {
      const all = await daemon.tasks() as unknown as readonly Seen[];
      return all.filter(({ workflow }) => workflow === "middle" || workflow === "hold");
    };
    const byHand = await held("by-hand");
    await daemon.svc(["task", "cancel", byHand, "--no-wait"]);
    equal((await ended(daemon, byHand)).state, "cancelled");

    const paused = await held("paused");
    equal((await daemon.svc(["pause", "--reason", "upgrade"])).code, 0);
    await daemon.svc(["task", "cancel", paused, "--no-wait"]);
    await until("the lowest child has stopped", async () => {
      const running = (await below()).filter(({ state }) => state === "running");
      return running.length === 0 || undefined;
    });
    equal((await daemon.svc(["resume"])).code, 0);
    equal((await ended(daemon, paused)).state, "cancelled");

    const late = await ended(daemon, await send(daemon, "late"));
    match(late.reason, /\(workflow "hold"\) did not end within 2s$/);
    await Deno.remove(`${daemon.workspace}/begun`);

    const replaced = await held("replaced");
    const newer = await held("replaced");
    equal((await ended(daemon, replaced)).state, "cancelled");
    await daemon.svc(["task", "cancel", newer, "--no-wait"]);
    const tasks = await daemon.settled();
    deepEqual(
      tasks.filter(({ id, state }) => state !== "cancelled" && id !== late.id),
      [],
      "no child is left",
    );
  },
);

programTest(
  "a workflow that starts itself is refused, and nothing waits for room that it keeps",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const itself = workflow("again", { steps: [{ id: "call", workflow: "again" }] });
    const refused = await daemon.svc(["apply", "-f", "-"], { stdin: JSON.stringify(itself) });
    deepEqual([refused.code, /would start itself again and again/.test(refused.stderr)], [1, true]);
    await daemon.apply(workflow("ping", { steps: [{ id: "call", workflow: "pong" }] }));
    const back = workflow("pong", { steps: [{ id: "call", workflow: "ping" }] });
    const circle = await daemon.svc(["apply", "-f", "-"], { stdin: JSON.stringify(back) });
    deepEqual([
      circle.code,
      /workflow\/pong: .*again and again: step "call" of "pong" starts "ping"/.test(circle.stderr),
    ], [1, true]);
    await daemon.apply(
      { kind: "Workspace", metadata: { name: "one" }, spec: { path: ".", maxParallel: 1 } },
      { kind: "Workspace", metadata: { name: "two" }, spec: { path: ".", maxParallel: 1 } },
      workflow("leaf", { steps: [{ id: "x", run: "true" }] }),
      workflow("within", { steps: [{ id: "call", workflow: "leaf" }] }),
      workflow("deeper", { steps: [{ id: "call", workflow: "within" }] }),
      workflow("across", { steps: [{ id: "call", workflow: "leaf", workspace: "two" }] }),
      trigger("deeper", { ...OPEN, workflow: "deeper", workspace: "one" }),
      trigger("across", { ...OPEN, workflow: "across", workspace: "one" }),
    );
    equal((await ended(daemon, await send(daemon, "deeper"))).state, "succeeded");
    const across = await ended(daemon, await send(daemon, "across"));
    match(across.reason, /keeps its room in workspace "one" while it waits, and workspace "two"/);
  },
);

type Timed = Seen & { readonly created_at: string; readonly finished_at: string };

programTest("a task for each item: none, one, ten, too many, and what is no list", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM, { args: ["--workers", "8"] });
  const each = (name: string, more: Record<string, unknown> = {}) =>
    workflow(name, {
      steps: [{
        id: "all",
        workflow: "leaf",
        forEach: "payload.items",
        with: { of: "{{ index }}:{{ item }}" },
        ...more,
      }],
    });
  await daemon.apply(
    workflow("leaf", {
      env: { OF: "{{ inputs.of }}" },
      steps: [{ id: "x", run: 'sleep 0.1; test "$OF" != 1:bad' }],
      outputs: { of: "{{ inputs.of }}" },
    }),
    each("each"),
    each("few", { maxParallel: 3 }),
    trigger("each", { ...OPEN, workflow: "each" }),
    trigger("few", { ...OPEN, workflow: "few" }),
  );
  const run = async (name: string, items: unknown) => {
    const id = await send(daemon, name, JSON.stringify({ items }));
    return { task: await ended(daemon, id), children: await children(daemon, id) as Timed[] };
  };
  const results = ({ task: { steps } }: Awaited<ReturnType<typeof run>>) =>
    JSON.parse(steps[0]?.outputs?.["results"] ?? "0");

  const none = await run("each", []);
  deepEqual([none.task.state, none.children, results(none)], ["succeeded", [], []]);
  const one = await run("each", [{ a: 1 }]);
  deepEqual([one.task.state, results(one)], ["succeeded", [{ of: '0:{"a":1}' }]]);
  const ten = await run("few", [..."abcdefghij"]);
  equal(ten.task.state, "succeeded");
  deepEqual(results(ten), [..."abcdefghij"].map((item, index) => ({ of: `${index}:${item}` })));
  const open = ten.children.map(({ created_at }) =>
    ten.children.filter((other) => other.created_at <= created_at && other.finished_at > created_at)
      .length
  );
  equal(Math.max(...open), 3, "as many at once as it says, and no more");

  const bad = await run("few", ["a", "bad", "c", "d", "e", "f", "g", "h"]);
  match(
    bad.task.reason,
    /^step "all": item 1: task \S+ \(workflow "leaf"\) failed: step "x": exit/,
  );
  ok(bad.children.length < 8, "none is made after a failure");
  ok(bad.children.every(({ state }) => state !== "cancelled"), "those under way go on");
  deepEqual(results(bad)[0], { of: "0:a" });
  equal(results(bad)[1], null);

  const many = await run("each", Array(1001).fill("x"));
  deepEqual([many.task.reason, many.children], [
    'step "all": "forEach" gave 1001 items, 1000 at most',
    [],
  ]);
  match((await run("each", "text")).task.reason, /"forEach" gave "text", which is no list/);
  match((await run("each", null)).task.reason, /"forEach" /);
  match((await run("each", ["x".repeat(65_537)])).task.reason, /item 0 .* more than 64 KiB/);
});

programTest("docs/workflows.md: a workflow uses another one", async () => {
  const page = await Deno.readTextFile(join(ROOT, "docs/workflows.md"));
  const [, example = ""] = /## Other workflows\n.*?```yaml\n(.*?)```/s.exec(page) ?? [];
  await using daemon = await startDaemon(ONE_PROGRAM);
  const trigger = `---
kind: Trigger
metadata: {name: release}
spec: {event: {source: webhook, webhook: {allowUnsigned: true}}, action: {workflow: release, workspace: default}}
`;
  equal((await daemon.svc(["apply", "-f", "-"], { stdin: example + trigger })).code, 0);
  const id = await send(daemon, "release", '{"target":"cli"}');
  equal((await ended(daemon, id)).state, "succeeded");
  equal(await Deno.readTextFile(`${daemon.workspace}/published`), "published cli.tar\n");
});

/** Milliseconds after which each daemon is killed, counted from when its task was accepted. */
const KILLS = [0, 20, 60, 120, 200, 300, 450, 600, 40, 160];

longTest(
  `kill -9 while children run, ${KILLS.length} times: each is made once, each parent goes on`,
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const [ids, lists]: [string[], string[]] = [[], []];
    for (const killAfterMs of KILLS) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      await daemon.apply(
        workflow("leaf", { steps: [{ id: "x", run: "sleep 0.1" }], outputs: { said: "hello" } }),
        workflow("middle", {
          steps: [{ id: "call", workflow: "leaf" }],
          outputs: { said: "{{ steps.call.outputs.said }}" },
        }),
        workflow("top", { steps: [{ id: "call", workflow: "middle" }, { id: "b", run: "true" }] }),
        workflow("each", {
          steps: [{
            id: "all",
            workflow: "leaf",
            forEach: "[1, 2, 3, 4, 5, 6]",
            with: { n: "{{ item }}" },
            maxParallel: 2,
          }],
        }),
        trigger("top", { ...OPEN, workflow: "top" }),
        trigger("each", { ...OPEN, workflow: "each" }),
      );
      ids.push(await send(daemon, "top"));
      lists.push(await send(daemon, "each"));
      await new Promise((resolve) => setTimeout(resolve, killAfterMs));
      await daemon.crash();
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    const all = await daemon.settled(120_000) as unknown as readonly Seen[];
    for (const id of ids) {
      const top = all.find((one) => one.id === id);
      const own = all.filter(({ parent_id }) => parent_id === id);
      // One that each of some kills met may have ended before it made its child.
      const isGivenUp = /interrupted/.test(top?.reason ?? "");
      ok(own.length === 1 || isGivenUp && own.length === 0, `${own.length} children of ${id}`);
      if (isGivenUp) continue;
      deepEqual(
        [top?.state, top?.steps[0]?.outputs?.["said"]],
        ["succeeded", "hello"],
        top?.reason,
      );
    }
    for (const id of lists) {
      const top = all.find((one) => one.id === id);
      if (/interrupted/.test(top?.reason ?? "")) continue;
      const own = all.filter(({ parent_id }) => parent_id === id);
      deepEqual([top?.state, own.length], ["succeeded", 6], top?.reason);
    }
    deepEqual(await daemon.json("get", "waits"), []);
    const checked = await daemon.svc(["db", "check"]);
    equal(checked.code, 0, checked.stdout + checked.stderr);
  },
);
