/**
 * One watch for all: who is told of what, and what happens when the system does not go along.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { createLog } from "../../src/base/log.ts";
import {
  type FileEvent,
  FileWatcher,
  type OpenWatch,
} from "../../src/intake/files/file_watcher.ts";
import { until } from "../helpers/until.ts";

/** A system that opens watches as the test says, and lets it tell what happens. */
function fakeSystem() {
  const logged: string[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    clock: { now: () => 0 },
    write: (line) => void logged.push(line),
  });
  const open: { paths: string[]; tell: (event: Deno.FsEvent | Error) => void }[] = [];
  let failure: Error | undefined;
  const openWatch = (paths: string[]): OpenWatch => {
    if (failure !== undefined) throw failure;
    const told: (Deno.FsEvent | Error)[] = [];
    let [wake, closed] = [() => {}, false];
    const one = {
      paths,
      tell(event: Deno.FsEvent | Error) {
        told.push(event);
        wake();
      },
    };
    open.push(one);
    const next = async (): Promise<IteratorResult<Deno.FsEvent, undefined>> => {
      while (told.length === 0 && !closed) {
        await new Promise<void>((resolve) => wake = resolve);
      }
      const event = told.shift();
      if (event instanceof Error) throw event;
      return event === undefined ? { done: true, value: undefined } : { done: false, value: event };
    };
    return {
      close() {
        if (closed) throw new Deno.errors.BadResource("closed twice");
        closed = true;
        open.splice(open.indexOf(one), 1);
        wake();
      },
      [Symbol.asyncIterator]: () => ({ next }) as AsyncIterableIterator<Deno.FsEvent>,
    };
  };
  const health = new HealthConditions();
  return {
    logged,
    open,
    health,
    host: { log, health, openWatch },
    fail: (error?: Error) => failure = error,
  };
}

/** Somebody who notes what he is told. */
function owner() {
  const told: FileEvent[] = [];
  return { told, onEvent: (event: FileEvent) => void told.push(event) };
}

const dirs = (...paths: string[]) => new Map(paths.map((path) => [path, `id of ${path}`]));
const event = (kind: Deno.FsEvent["kind"], ...paths: string[]) => ({ kind, paths });

Deno.test("FileWatcher tells each owner of its own directories", async () => {
  const system = fakeSystem();
  await using watcher = new FileWatcher(system.host);
  const [a, b] = [owner(), owner()];
  equal(watcher.watch(a, dirs("/w/a", "/w/both")), true);
  equal(watcher.watch(b, dirs("/w/b", "/w/both")), true);
  equal(watcher.watch(b, dirs("/w/both", "/w/b")), false);
  deepEqual(system.open.map(({ paths }) => paths), [["/w/a", "/w/both"], ["/w/b"]]);
  system.open[0]?.tell(event("create", "/w/a/1"));
  system.open[0]?.tell(event("access", "/w/a/2"));
  system.open[0]?.tell(event("remove", "/w/both"));
  system.open[0]?.tell(event("modify", "/w/both/3"));
  system.open[1]?.tell(event("rename", "/w/b/old", "/w/b/new"));
  await until("all events", () => a.told.length + b.told.length === 7 || undefined);
  deepEqual(a.told.map(({ kind, path }) => `${kind} ${path}`), [
    "create /w/a/1",
    "remove /w/both",
    "modify /w/both/3",
  ]);
  deepEqual(b.told.map(({ path }) => path).toSorted(), [
    "/w/b/new",
    "/w/b/old",
    "/w/both",
    "/w/both/3",
  ]);
});

Deno.test("FileWatcher watches a directory anew when another has taken its place", async () => {
  const system = fakeSystem();
  await using watcher = new FileWatcher(system.host);
  const one = owner();
  watcher.watch(one, new Map([["/w", "1"]]));
  equal(watcher.watch(one, new Map([["/w", "1"]])), false);
  equal(watcher.watch(one, new Map([["/w", "2"]])), true);
  equal(system.open.length, 2);
});

Deno.test("FileWatcher keeps few watches open, however many directories come and go", async () => {
  const system = fakeSystem();
  await using watcher = new FileWatcher(system.host);
  const [one, other] = [owner(), owner()];
  watcher.watch(other, dirs("/other"));
  for (let i = 0; i < 100; i++) {
    watcher.watch(one, dirs(`/w/${i}`));
    await Promise.resolve();
  }
  equal(system.open.length <= 9, true, `${system.open.length}`);
  equal(system.open.some(({ paths }) => paths.includes("/other")), true);
  equal(system.open.at(-1)?.paths.includes("/w/99"), true);
});

Deno.test("FileWatcher closes everything when it has no listener", async () => {
  const system = fakeSystem();
  await using watcher = new FileWatcher(system.host);
  const [a, b] = [owner(), owner()];
  watcher.watch(a, dirs("/a"));
  watcher.watch(b, dirs("/b"));
  watcher.forget(a);
  equal(system.open.length, 2);
  watcher.forget(b);
  watcher.forget(b);
  equal(system.open.length, 0);
  equal(watcher.watch(a, dirs("/a")), true);
});

Deno.test("FileWatcher says once why it cannot watch, and tries again each time", async () => {
  const system = fakeSystem();
  await using watcher = new FileWatcher(system.host);
  const one = owner();
  system.fail(new Error("No space left on device (os error 28)"));
  equal(watcher.watch(one, dirs("/w")), false);
  equal(watcher.watch(one, dirs("/w")), false);
  match(system.health.list().join(), /^files cannot be watched .*No space left on device/);
  equal(system.logged.length, 1);
  system.fail();
  equal(watcher.watch(one, dirs("/w")), true);
  deepEqual(system.health.list(), []);
});

Deno.test("FileWatcher tells that something happened when it cannot tell what", async () => {
  const system = fakeSystem();
  await using watcher = new FileWatcher(system.host);
  const one = owner();
  watcher.watch(one, dirs("/w"));
  const [watch] = system.open;
  watch?.tell(new TypeError("path contains invalid UTF-8 characters"));
  watch?.tell({ ...event("other"), flag: "rescan" });
  watch?.tell(event("create", "/w/a"));
  await until("the last event", () => one.told.at(-1)?.kind === "create" || undefined);
  deepEqual(one.told.map(({ kind, path }) => `${kind} ${path}`), ["any ", "any ", "create /w/a"]);
});

Deno.test("FileWatcher opens a watch again that has ended", async () => {
  const system = fakeSystem();
  await using watcher = new FileWatcher(system.host);
  const one = owner();
  watcher.watch(one, dirs("/w"));
  system.open[0]?.tell(new Error("the system has had enough"));
  await until("the end of the watch", () => system.open.length === 0 || undefined);
  equal(one.told.length, 1);
  equal(watcher.watch(one, dirs("/w")), true);
  equal(system.open.length, 1);
});
