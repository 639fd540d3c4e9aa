/**
 * What watchers wait for: they read when something was announced, and nothing while nothing is.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { Input } from "../../src/api/operations.ts";
import type { WatchLine } from "../../src/api/resource_operations.ts";
import { systemClock } from "../../src/base/clock.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import { Changes } from "../../src/control/records/changes.ts";
import { taskLogs } from "../../src/control/tasks/task_logs.ts";
import { waitForTasks } from "../../src/control/tasks/task_wait.ts";
import { Watches, type WatchHost } from "../../src/control/watch.ts";
import { withAnnouncements } from "../../src/store/store_methods.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { LogFiles } from "../../src/store/files/log_files.ts";
import type { Store } from "../../src/store/store.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { addTo } from "../rigs/each_log.ts";
import { tempStore } from "../helpers/temp_store.ts";
import { until } from "../helpers/until.ts";

const HOUR_MS = 3_600_000;

function newHub() {
  return new EventHub<DaemonEvents>({
    error: (message, fields) => {
      throw new Error(`${message}: ${JSON.stringify(fields)}`);
    },
  });
}

/** A store that announces and counts, and what streams need beside it. */
async function surroundings() {
  const temp = await tempStore();
  const events = newHub();
  const calls: string[] = [];
  const noting = (name: string, method: unknown) => (...args: unknown[]) => {
    calls.push(name);
    return (method as (...args: unknown[]) => unknown)(...args);
  };
  const methods = Object.entries(temp.store).filter(([name]) => name !== "failed");
  const noted = methods.map(([name, method]) => [name, noting(name, method)]);
  const store = withAnnouncements({ ...temp.store, ...Object.fromEntries(noted) }, events);
  const logs = new LogFiles(temp.dir);
  const host = { store, events, clock: systemClock, logs };
  const stop = new AbortController();
  return {
    host,
    calls,
    stop,
    signal: stop.signal,
    store,
    watch: (
      input: { state?: string; name?: string } = {},
      timing = { spacingMs: 1, keepaliveMs: HOUR_MS },
    ) =>
      new Watches(host as unknown as WatchHost, timing).lines(
        { what: "task", ...input },
        stop.signal,
      ),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await temp[Symbol.asyncDispose]();
    },
  };
}

const shown = ({ value }: IteratorResult<WatchLine>) =>
  (value as WatchLine).items.map(({ id, state }) => `${Number(String(id).slice(-6))} ${state}`);

Deno.test("changes: ids are kept apart until anything may have changed; each is given once", async () => {
  const events = newHub();
  const { signal } = new AbortController();
  using changes = Changes.ofRecords({ events, record: "task", spacingMs: 0, clock: systemClock });
  events.publish("recordsChanged", { record: "task", id: "a" });
  events.publish("recordsChanged", { record: "delivery" });
  events.publish("recordsChanged", { record: "task", id: "b" });
  events.publish("recordsChanged", { record: "task", id: "a" });
  deepEqual(await changes.next(HOUR_MS, signal), new Set(["a", "b"]));
  events.publish("recordsChanged", { record: "task", id: "a" });
  events.publish("recordsChanged", { record: "task" });
  equal(await changes.next(HOUR_MS, signal), "any");
  equal(await changes.next(0, signal), "quiet");
  const waiting = changes.next(HOUR_MS, signal);
  events.publish("recordsChanged", { record: "task", id: "c" });
  deepEqual(await waiting, new Set(["c"]));
  for (let n = 0; n < 1000; n++) events.publish("recordsChanged", { record: "task", id: `${n}` });
  equal(await changes.next(HOUR_MS, signal), "any", "a thousand ids are not kept");
});

Deno.test("changes: an abort ends the wait, and whoever is disposed hears no more", async () => {
  const events = newHub();
  const stop = new AbortController();
  const changes = Changes.ofRecords({ events, record: "task", spacingMs: 0, clock: systemClock });
  const waiting = changes.next(HOUR_MS, stop.signal);
  stop.abort();
  equal(await waiting, "quiet");
  equal(await changes.next(HOUR_MS, stop.signal), "quiet");
  changes[Symbol.dispose]();
  events.publish("recordsChanged", { record: "task" });
  equal(await changes.next(0, new AbortController().signal), "quiet");
});

Deno.test("ten watchers without changes read the store only before each sign of life", async () => {
  await using it = await surroundings();
  for (const n of [1, 2, 3]) await accept(it.store, n);
  const timing = { spacingMs: 1, keepaliveMs: 300 };
  const one = it.watch({}, timing);
  await one.next();
  it.calls.length = 0;
  deepEqual(shown(await one.next()), [], "the sign of life");
  const each = it.calls.length;
  await one.return(undefined);
  const watchers = Array.from({ length: 10 }, () => it.watch({}, timing));
  for (const watcher of watchers) await watcher.next();
  it.calls.length = 0;
  const lines = await Promise.all(watchers.map((watcher) => watcher.next()));
  deepEqual(lines.map(shown), lines.map(() => []));
  equal(it.calls.length, 10 * each, it.calls.join());
  for (const watcher of watchers) await watcher.return(undefined);
});

Deno.test("a subject of several watchers is read once, even if each shows another part", async () => {
  await using it = await surroundings();
  await accept(it.store, 1);
  const watches = new Watches(it.host as unknown as WatchHost, {
    spacingMs: 20,
    keepaliveMs: HOUR_MS,
  });
  const all = Array.from({ length: 10 }, () => watches.lines({ what: "task" }, it.signal));
  const own = watches.lines({ what: "task", trigger: "push" }, it.signal);
  for (const one of [...all, own]) await one.next();
  for (const n of [2, 3]) {
    it.calls.length = 0;
    const lines = [...all, own].map((one) => one.next());
    await accept(it.store, n, { trigger: "push" });
    const seen = (await Promise.all(lines)).map(shown);
    deepEqual(seen, seen.map(() => [`${n} pending`]));
    // Each of the two lists reads what is new, and what waits; eleven watchers read no more.
    const reads = it.calls.filter((name) => name !== "recordDelivery");
    ok(reads.length <= 4, reads.join());
  }
  for (const one of [...all, own]) await one.return(undefined);
});

Deno.test("a read from before a change is not shared with one who has heard of the change", async () => {
  await using it = await surroundings();
  await accept(it.store, 1);
  const held: (() => void)[] = [];
  let holds = false;
  const store: Store = {
    ...it.store,
    async listTasks(query) {
      const rows = await it.store.listTasks(query);
      if (holds) await new Promise<void>((resolve) => held.push(resolve));
      return rows;
    },
  };
  const host = { ...it.host, store } as unknown as WatchHost;
  const watches = new Watches(host, { spacingMs: 1, keepaliveMs: HOUR_MS });
  const slow = watches.lines({ what: "task" }, it.signal);
  const quick = watches.lines({ what: "task" }, it.signal);
  const witness = watches.lines({ what: "task", trigger: "push" }, it.signal);
  for (const one of [slow, quick, witness]) await one.next();
  holds = true;
  const first = slow.next(); // reads the first change
  await it.store.claimTasks(1, 1);
  await until("its read", () => held.length === 1 ? true : undefined);
  holds = false;
  await it.store.finishTask({ taskId: taskIdOf(1), state: "succeeded", reason: "", now: 2 });
  while (shown(await witness.next())[0] !== "1 succeeded"); // all three have heard of it
  deepEqual(shown(await quick.next()), ["1 succeeded"]);
  held[0]?.();
  deepEqual(shown(await first), ["1 running"]);
  deepEqual(shown(await slow.next()), ["1 succeeded"]);
  for (const one of [slow, quick, witness]) await one.return(undefined);
});

Deno.test("a change of one task reads that one, and those that wait in a list", async () => {
  await using it = await surroundings();
  for (const n of [1, 2, 3]) await accept(it.store, n);
  const list = it.watch();
  const one = it.watch({ name: taskIdOf(2) });
  deepEqual(shown(await list.next()), ["1 pending", "2 pending", "3 pending"]);
  deepEqual(shown(await one.next()), ["2 pending"]);
  await it.store.claimTasks(1, 1); // task 1
  it.calls.length = 0;
  deepEqual(shown(await list.next()), ["1 running"]);
  deepEqual(it.calls, ["listTasks", "listTasks"]); // the one, and those that wait
  const next = one.next();
  await it.store.claimTasks(1, 1);
  deepEqual(shown(await next), ["2 running"]);
  await Promise.all([list.return(undefined), one.return(undefined)]);
});

Deno.test("a record stored while a watch reads, at the start or later, is sent once", async () => {
  await using it = await surroundings();
  await accept(it.store, 1);
  let stored = 1;
  const store: Store = {
    ...it.store,
    async listTasks(query) {
      const read = await it.store.listTasks(query);
      if (stored < 9) await accept(it.store, ++stored); // in no read that came before
      return read;
    },
  };
  const timing = { spacingMs: 1, keepaliveMs: HOUR_MS };
  const host = { ...it.host, store } as unknown as WatchHost;
  const lines = new Watches(host, timing).lines({ what: "task", state: "pending" }, it.signal);
  const seen: string[] = [];
  while (seen.length < 9) seen.push(...shown(await lines.next()));
  deepEqual(seen, Array.from({ length: 9 }, (_, n) => `${n + 1} pending`));
  await lines.return(undefined);
});

Deno.test("task.wait reads a task when it has ended, and those that it does not wait for never", async () => {
  await using it = await surroundings();
  for (const n of [1, 2, 3]) await accept(it.store, n);
  await it.store.claimTasks(3, 1);
  const lines = waitForTasks({ ids: [taskIdOf(1), taskIdOf(2)] }, it.host, it.signal);
  deepEqual((await lines.next()).value, { open: 2 });
  const first = lines.next();
  const end = (n: number) =>
    it.store.finishTask({ taskId: taskIdOf(n), state: "succeeded", reason: "", now: 2 });
  await end(2);
  const ended = (await first).value as { task: { id: string } };
  equal(ended.task.id, taskIdOf(2));
  it.calls.length = 0;
  const second = lines.next();
  await end(3);
  await end(1);
  equal(((await second).value as { task: { id: string } }).task.id, taskIdOf(1));
  deepEqual(it.calls, ["finishTask", "finishTask", "findTasks"]);
  equal((await lines.next()).done, true);
});

Deno.test("task.logs reads the log when there is more output, and the task when that has changed", async () => {
  await using it = await surroundings();
  await accept(it.store, 1);
  await it.store.claimTasks(1, 1);
  const [taskId, input] = [taskIdOf(1), { id: taskIdOf(1), follow: true }];
  const lines = taskLogs(input as Input<"task.logs">, it.host, it.signal);
  const write = async (text: string) => {
    const line = `${JSON.stringify({ at: 1, step: "build", stream: "out", text })}\n`;
    await addTo(it.host.logs.of(taskId), new TextEncoder().encode(line));
    it.host.events.publish("logWritten", { taskId });
  };
  const data = async () => atob(((await lines.next()).value as { data: string }).data);
  await write("one");
  equal(await data(), "one");
  it.calls.length = 0;
  const next = data();
  await write("two");
  equal(await next, "two");
  deepEqual(it.calls, []);
  const end = lines.next();
  await write("three");
  await it.store.finishTask({ taskId, state: "succeeded", reason: "", now: 2 });
  equal(atob(((await end).value as { data: string }).data), "three");
  deepEqual((await lines.next()).value, { state: "succeeded", reason: "" });
});
