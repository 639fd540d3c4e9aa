/**
 * Tasks that do not run say for what they wait, wherever they are shown; and those that run, since
 * when they are silent.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { TaskRecord } from "../../src/api/records.ts";
import { systemClock } from "../../src/base/clock.ts";
import { until } from "../helpers/until.ts";
import { type ControlRig, controlRig, controlTest } from "../rigs/control_rig.ts";

const WORKSPACE = {
  kind: "Workspace",
  metadata: { name: "default" },
  spec: { path: "workspaces/default" },
};
const workflow = (steps: readonly object[]) => ({
  kind: "Workflow",
  metadata: { name: "ci" },
  spec: { steps },
});
const trigger = (name: string, limits: object = {}) => ({
  kind: "Trigger",
  metadata: { name },
  spec: {
    event: { source: "webhook", webhook: { allowUnsigned: true } },
    action: { workflow: "ci", workspace: "default" },
    ...limits,
  },
});
/** Waits until there is a file of this name in the workspace. */
const WAITING = "echo begun; while [ ! -e go ]; do sleep 0.05; done";

async function begin(rig: ControlRig, ...documents: readonly unknown[]): Promise<void> {
  await rig.apply(...[WORKSPACE, ...documents].map((document) => JSON.stringify(document)));
}

const start = async (rig: ControlRig, name: string) =>
  String((await rig.post(name, "{}"))["task_id"]);

const task = (rig: ControlRig, id: string): Promise<TaskRecord> => rig.client.call("task", { id });

const inState = (rig: ControlRig, id: string, state: string) =>
  until(`${id} ${state}`, async () => {
    const found = await task(rig, id);
    return found.state === state ? found : undefined;
  });

const letGo = (rig: ControlRig) => Deno.writeTextFile(`${rig.dirs.workspaces}/default/go`, "");

controlTest("a task says that it waits for a worker, and of how many", async (rig) => {
  await begin(rig, workflow([{ id: "one", run: WAITING }]), trigger("now"));
  const busy = [await start(rig, "now"), await start(rig, "now")];
  for (const id of busy) await inState(rig, id, "running");
  const id = await start(rig, "now");
  const reason = "waits for a worker (2 of 2 busy)";
  const { items, columns, rows } = await rig.client.call("get", { what: "tasks", name: id });
  const at = columns.findIndex(({ header }) => header === "REASON");
  equal(rows[0]?.[at], reason);
  equal(items[0]?.["reason"], reason);
  equal(items[0]?.["readiness"], "ready");
  deepEqual(items[0]?.["waits_for"], { what: "worker", used: 2, limit: 2 });
  const described = await rig.client.call("describe", { what: "task", name: id, reveal: false });
  equal(described["reason"], reason);
  equal((await rig.client.call("task.plan", { id })).reason, reason);
  const waited = [];
  for await (const line of rig.client.stream("task.wait", { ids: [id], timeout_secs: 0 })) {
    waited.push(line);
  }
  const last = waited.at(-1);
  ok(last !== undefined && "timed_out" in last);
  deepEqual(last.tasks.map(({ id, state, reason }) => [id, state, reason]), [[
    id,
    "pending",
    reason,
  ]]);
  await letGo(rig);
  equal((await inState(rig, id, "succeeded")).reason, "");
});

controlTest("who watches is told behind which task another one is queued", async (rig) => {
  const concurrency = { policy: "Queue" };
  await begin(
    rig,
    workflow([{ id: "one", run: WAITING }]),
    trigger("review", { concurrency }),
  );
  const first = await start(rig, "review");
  await inState(rig, first, "running");
  const second = await start(rig, "review");
  const third = await start(rig, "review");
  const behind = (id: string) => `queued behind task/${id} (concurrency of trigger review, 1 of 1)`;
  const { reason, readiness } = await task(rig, third);
  deepEqual([reason, readiness], [behind(first), "queued"]);
  const stop = new AbortController();
  const seen = { list: [] as string[], one: [] as string[] };
  const follow = async (into: string[], name: object) => {
    const stream = rig.client.stream("get.watch", { what: "tasks", ...name }, stop.signal);
    for await (const { items } of stream) {
      into.push(...items.filter((item) => item["id"] === third).map((item) => `${item["reason"]}`));
    }
  };
  const following = [follow(seen.list, {}), follow(seen.one, { name: third })]
    .map((work) => work.catch((error) => stop.signal.aborted || Promise.reject(error)));
  await until("both", () => seen.list.length > 0 && seen.one.length > 0 || undefined);
  await rig.client.call("task.cancel", { ids: [first] });
  for (const reasons of [seen.list, seen.one]) {
    await until("the next in its way", () => reasons.includes(behind(second)) || undefined);
  }
  stop.abort();
  await Promise.all(following);
  await letGo(rig);
});

controlTest("a running task says since when it is silent, and when it tries again", async (rig) => {
  await begin(
    rig,
    workflow([{ id: "one", run: WAITING }, {
      id: "two",
      run: "exit 3",
      retry: { attempts: 2, backoffSecs: 600 },
    }]),
    trigger("now"),
  );
  const id = await start(rig, "now");
  const silent = await until("a step", async () => {
    const found = await task(rig, id);
    return found.steps[0]?.state === "running" ? found : undefined;
  });
  match(silent.silent_since ?? "", /^20\d\d-/);
  ok((silent.silent_since ?? "") >= (silent.started_at ?? ""), "no sooner than it began");
  equal(silent.reason, "");
  await letGo(rig);
  const paused = await until("the pause", async () => {
    const found = await task(rig, id);
    return found.waits_for === undefined ? undefined : found;
  });
  match(
    paused.reason,
    /^step two: attempt 1 of 2: exit code 3, the next one at 20\d\d-[-0-9T:.]+Z$/,
  );
  deepEqual([paused.waits_for, paused.silent_since], [{ what: "retry", step: "two" }, undefined]);
  await rig.client.call("task.cancel", { ids: [id] });
});

Deno.test({
  name:
    "svc status says that all workers are busy for long, and which task is silent, until it is over",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    let laterMs = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + laterMs };
    await using rig = await controlRig(undefined, clock);
    await begin(rig, workflow([{ id: "one", run: WAITING }]), trigger("now"));
    const busy = [await start(rig, "now"), await start(rig, "now")];
    await until("output of both", async () => {
      const logs = await Promise.all(busy.map((id) => rig.client.call("task.log.read", { id })));
      return logs.every(({ lines }) => lines.length > 0) || undefined;
    });
    const degraded = async () => (await rig.client.call("status", {})).degraded;
    laterMs = 11 * 60_000;
    deepEqual(await degraded(), [], "nobody waits");
    const waiting = await start(rig, "now");
    deepEqual(await degraded(), [
      "all 2 workers have been busy for 11m: svc get tasks --state running",
    ]);
    laterMs = 31 * 60_000;
    const [, ...silent] = await degraded();
    deepEqual(
      silent,
      busy.map((id) =>
        `task/${id} has printed nothing for 31m: svc task logs ${id}, svc task cancel ${id}`
      ),
    );
    await letGo(rig);
    await inState(rig, waiting, "succeeded");
    deepEqual(await degraded(), []);
  },
});
