/**
 * The source `filesystem`: each change of each file that matches is one event, whether or not a
 * watch tells of it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { OpenWatch } from "../../src/intake/files/file_watcher.ts";
import { type FilesystemHost, FilesystemSource } from "../../src/intake/files/filesystem.ts";
import type { Store } from "../../src/store/store.ts";
import { until } from "../helpers/until.ts";
import { BASE, type SourceRig, sourceRig, triggerOf } from "../rigs/source_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

const files = (paths: string, more = "") =>
  triggerOf("files", `source: filesystem, filesystem: {paths: [${paths}], debounceMs: 20${more}}`);

/** A rig with a workspace that holds these files, and a source that has looked at them. */
async function rigWith(manifest: string, ...names: readonly string[]) {
  const rig = await sourceRig(BASE + manifest);
  const root = `${rig.host.dirs.root}/repo`;
  await Deno.mkdir(root);
  const write = async (name: string, text: string) => {
    const path = `${root}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, text);
  };
  for (const name of names) await write(name, "before");
  return { rig, root, write, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() };
}

/** A source whose first look is over. */
async function started(rig: SourceRig, options: Partial<FilesystemHost> = {}) {
  const source = new FilesystemSource({ ...rig.host, ...options });
  await until("the first look", () => source.isReady() || undefined);
  return source;
}

/** A watch that tells what the test says. */
function handWatch() {
  const told: Deno.FsEvent[] = [];
  let wake = () => {};
  let closed = false;
  const openWatch = (): OpenWatch => ({
    close() {
      closed = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      while (!closed) {
        yield* told.splice(0);
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    },
  });
  const emit = (kind: Deno.FsEvent["kind"], path: string) => {
    told.push({ kind, paths: [path] });
    wake();
  };
  return { openWatch, emit };
}

/** Waits until that many events are stored; gives them all as `event path`. */
async function events(rig: SourceRig, count: number): Promise<readonly string[]> {
  const payloads = await until(`${count} events`, async () => {
    const found = await rig.payloads() as { event: string; path: string }[];
    return found.length >= count ? found : undefined;
  });
  return payloads.map(({ event, path }) => `${event} ${path}`).toSorted();
}

Deno.test("filesystem fires for each file that is created, modified and deleted", async () => {
  await using at = await rigWith(files('"inbox/**/*.csv"'), "inbox/old.csv", "inbox/gone.csv");
  await using _source = await started(at.rig);
  await at.write("inbox/new.csv", "1");
  deepEqual(await events(at.rig, 1), ["create inbox/new.csv"]);
  const [payload] = await at.rig.payloads();
  const [delivery] = await at.rig.deliveries();
  await at.write("inbox/old.csv", "another size");
  await Deno.remove(`${at.root}/inbox/gone.csv`);
  await at.write("inbox/not.txt", "1");
  await at.write("else/not.csv", "1");
  deepEqual(await events(at.rig, 3), [
    "create inbox/new.csv",
    "delete inbox/gone.csv",
    "modify inbox/old.csv",
  ]);
  deepEqual(payload, { event: "create", path: "inbox/new.csv", filename: "new.csv" });
  deepEqual(
    [delivery?.source, delivery?.outcome, delivery?.status, delivery?.bodyBytes],
    ["filesystem", "accepted", 0, JSON.stringify(payload).length],
  );
  equal((await at.rig.tasks()).length, 3);
});

Deno.test("filesystem fires only for the events its trigger names", async () => {
  await using at = await rigWith(files('"*"', ", events: [delete]"), "a", "b");
  await using _source = await started(at.rig);
  await at.write("c", "1");
  await at.write("a", "another size");
  await Deno.remove(`${at.root}/b`);
  deepEqual(await events(at.rig, 1), ["delete b"]);
});

Deno.test("filesystem sees what comes in directories that were not there", async () => {
  await using at = await rigWith(files('"in/*/deep/**"'));
  await using _source = await started(at.rig);
  await at.write("in/a/deep/1", "1");
  deepEqual(await events(at.rig, 1), ["create in/a/deep/1"]);
  await at.write("in/b/deep/x/y/2", "1");
  await events(at.rig, 2);
  await at.write("in/b/deep/x/y/3", "1");
  await Deno.rename(`${at.root}/in/a`, `${at.root}/in/c`);
  deepEqual(await events(at.rig, 5), [
    "create in/a/deep/1",
    "create in/b/deep/x/y/2",
    "create in/b/deep/x/y/3",
    "create in/c/deep/1",
    "delete in/a/deep/1",
  ]);
});

Deno.test("filesystem fires once for a file that is written again and again", async () => {
  await using at = await rigWith(files('"*"').replace("debounceMs: 20", "debounceMs: 400"));
  await using _source = await started(at.rig);
  for (let i = 0; i < 20; i++) await at.write("growing", "x".repeat(i));
  await at.write("other", "1");
  deepEqual(await events(at.rig, 2), ["create growing", "create other"]);
});

Deno.test("filesystem does not wait for ever where it is never quiet", async () => {
  await using at = await rigWith(files('"*"').replace("debounceMs: 20", "debounceMs: 60"));
  await using _source = await started(at.rig);
  let writing = true;
  const writer = (async () => {
    for (let i = 0; writing; i++) {
      await at.write("log", "x".repeat(i));
      await systemClock.pause(10);
    }
  })();
  await at.write("wanted", "1");
  const seen = await events(at.rig, 2).finally(() => writing = false);
  await writer;
  ok(seen.includes("create wanted"), seen.join());
});

Deno.test("filesystem looks when something happens that may matter, and not else", async () => {
  await using at = await rigWith(files('"in/*.csv"', ", ignore: [skip]"), "in/a.csv");
  const { openWatch, emit } = handWatch();
  await using _source = await started(at.rig, { openWatch });
  await systemClock.pause(1000); // the second look, after the watch was opened
  await at.write("in/b.csv", "1");
  emit("modify", `${at.root}/in/app.log`);
  emit("access", `${at.root}/in/b.csv`);
  emit("create", `${at.root}/in/skip`);
  emit("create", `${at.root}/elsewhere/in`);
  await systemClock.pause(100);
  equal((await at.rig.deliveries()).length, 0);
  emit("modify", `${at.root}/in/b.csv`);
  deepEqual(await events(at.rig, 1), ["create in/b.csv"]);
});

Deno.test("filesystem scans from time to time where nothing can be watched, and says so", async () => {
  await using at = await rigWith(files('"**"'), "a");
  const openWatch = () => {
    throw new Error("No space left on device (os error 28)");
  };
  await using _source = await started(at.rig, { openWatch, rescanMs: 40 });
  await at.write("deep/b", "1");
  deepEqual(await events(at.rig, 1), ["create deep/b"]);
  await at.write("a", "another size");
  deepEqual(await events(at.rig, 2), ["create deep/b", "modify a"]);
  equal(at.rig.logged.filter((line) => line.includes("No space left")).length, 1);
  match(at.rig.host.health.list().join(), /only polled: No space left on device/);
});

Deno.test("filesystem sees what came between the first scan and the watch", async () => {
  await using at = await rigWith(files('"*"'));
  const { openWatch: open } = handWatch();
  const openWatch = () => {
    Deno.writeTextFileSync(`${at.root}/just-now`, "1");
    return open();
  };
  await using _source = await started(at.rig, { openWatch });
  deepEqual(await events(at.rig, 1), ["create just-now"]);
});

Deno.test("filesystem finds what a watch lost", async () => {
  await using at = await rigWith(files('"*"'));
  const { openWatch } = handWatch();
  await using _source = await started(at.rig, { openWatch, rescanMs: 40 });
  await at.write("a", "1");
  deepEqual(await events(at.rig, 1), ["create a"]);
});

Deno.test("filesystem survives names that are not UTF-8, and passes on odd ones", async () => {
  const odd = ['a "quoted" $(touch PWN) name', "line\nbreak", "-rf", "💥 é\u0301 \u0007"];
  await using at = await rigWith(files('"**"'));
  await using _source = await started(at.rig);
  const shell = new Deno.Command("/bin/sh", {
    args: ["-c", "printf x > \"$1/$(printf 'bad\\377name')\"", "sh", at.root],
  });
  equal((await shell.output()).success, true);
  for (const name of odd) await at.write(name, "1");
  deepEqual(await events(at.rig, odd.length), odd.map((name) => `create ${name}`).toSorted());
});

Deno.test(
  skippable("filesystem fires for a thousand files at once, once each", NOT_SLOW),
  async () => {
    await using at = await rigWith(files('"in/*"'));
    await using _source = await started(at.rig);
    const names = Array.from({ length: 1000 }, (_, i) => `in/${String(i).padStart(4, "0")}`);
    await Promise.all(names.map((name) => at.write(name, "1")));
    const created = (await events(at.rig, 1000)).filter((event) => event.startsWith("create"));
    deepEqual(created, names.map((name) => `create ${name}`));
  },
);

const LATE = `
---
kind: Workspace
metadata: {name: late}
spec: {path: late}
---
kind: Trigger
metadata: {name: late}
spec:
  event: {source: filesystem, filesystem: {paths: ["*"], debounceMs: 20}}
  action: {workflow: ci, workspace: late}
`;

Deno.test("filesystem waits for a workspace that is not there yet, and says so once", async () => {
  await using at = await rigWith(LATE);
  await using source = new FilesystemSource({ ...at.rig.host, rescanMs: 40 });
  await until("the fault", () => at.rig.host.health.list().length > 0 || undefined);
  await systemClock.pause(120);
  match(at.rig.host.health.list().join(), /files of trigger "late" .*late" does not exist/);
  equal(at.rig.logged.filter((line) => line.includes("are not all watched")).length, 1);
  const late = `${at.rig.host.dirs.root}/late`;
  await Deno.mkdir(late);
  await until("the first look", () => source.isReady() || undefined);
  await Deno.writeTextFile(`${late}/a`, "1");
  deepEqual(await events(at.rig, 1), ["create a"]);
  deepEqual(at.rig.host.health.list(), []);
});

Deno.test("filesystem names a workspace that was never applied, until its trigger is gone", async () => {
  await using at = await rigWith(files('"*"').replace("workspace: repo", "workspace: none"));
  await using source = new FilesystemSource(at.rig.host);
  match(at.rig.host.health.list().join(), /Workspace "none" does not exist/);
  at.rig.remove("files");
  source.poll();
  deepEqual(at.rig.host.health.list(), []);
});

Deno.test("filesystem takes a workspace that vanishes for no change of its files", async () => {
  await using at = await rigWith(files('"*"'), "a", "b");
  await using _source = await started(at.rig, { rescanMs: 40 });
  await Deno.rename(at.root, `${at.root}.away`);
  await until("the fault", () => at.rig.host.health.list().length > 0 || undefined);
  await Deno.remove(`${at.root}.away/b`);
  await Deno.rename(`${at.root}.away`, at.root);
  deepEqual(await events(at.rig, 1), ["delete b"]);
});

Deno.test("filesystem says that there is too much to look at, and fires nothing", async () => {
  await using at = await rigWith(files('"**"'));
  await using source = new FilesystemSource({ ...at.rig.host, maxScanned: 3 });
  for (const name of ["a", "b", "c", "d"]) await at.write(name, "1");
  source.poll();
  await until(
    "the fault",
    () => at.rig.host.health.list().join().includes("too many files") || undefined,
  );
  equal((await at.rig.deliveries()).length, 0);
});

Deno.test("filesystem follows applies and deletes of triggers and workspaces", async () => {
  await using at = await rigWith("", "a");
  await using source = await started(at.rig);
  await at.write("b", "1");
  at.rig.apply(files('"*"'));
  source.poll();
  await until("the first look", () => source.isReady() || undefined);
  await at.write("c", "1");
  deepEqual(await events(at.rig, 1), ["create c"]); // what was there before is no news

  at.rig.apply(files('"*"', ", events: [create]")); // looks on where it was
  source.poll();
  await at.write("d", "1");
  await events(at.rig, 2);

  const other = `${at.rig.host.dirs.root}/other`;
  await Deno.mkdir(other);
  at.rig.apply(BASE.replace("path: repo", "path: other"));
  source.poll();
  await until("the first look", () => source.isReady() || undefined);
  await at.write("not", "1");
  await Deno.writeTextFile(`${other}/e`, "1");
  deepEqual(await events(at.rig, 3), ["create c", "create d", "create e"]);

  at.rig.remove("files");
  await Deno.writeTextFile(`${other}/f`, "1");
  await systemClock.pause(100);
  equal((await at.rig.deliveries()).length, 3);
});

Deno.test("filesystem in a workspace around the data directory does not see svc itself at work", async () => {
  await using at = await rigWith(files('"**"'));
  at.rig.apply(BASE.replace("path: repo", "path: ."));
  await using _source = await started(at.rig, { rescanMs: 40 });
  await at.write("a", "1");
  await events(at.rig, 1);
  await systemClock.pause(200); // the event has been stored, in a file of this very workspace
  deepEqual(await events(at.rig, 1), ["create repo/a"]);
});

Deno.test("filesystem records what a suspended trigger would have started", async () => {
  await using at = await rigWith(
    triggerOf(
      "files",
      'source: filesystem, filesystem: {paths: ["*"], debounceMs: 20}',
      "suspend: true",
    ),
  );
  await using _source = await started(at.rig);
  await at.write("a", "1");
  await events(at.rig, 1);
  const [delivery] = await at.rig.deliveries();
  deepEqual([delivery?.outcome, delivery?.reason], ["skipped", "the trigger is suspended"]);
  equal((await at.rig.tasks()).length, 0);
});

Deno.test("filesystem tries again when the store is overloaded, and fires once", async () => {
  await using at = await rigWith(files('"*"'));
  let refusals = 2;
  at.rig.broken.recordDelivery = (async (delivery) => {
    const stored = await at.rig.store.recordDelivery(delivery);
    if (refusals-- <= 0) return stored;
    throw new AppError("overloaded", "The answer got lost"); // though it was stored
  }) satisfies Store["recordDelivery"];
  await using _source = await started(at.rig);
  await at.write("a", "1");
  await until("the third try", () => refusals < 0 || undefined);
  equal((await at.rig.deliveries()).length, 1);
  equal((await at.rig.tasks()).length, 1);
});

Deno.test("filesystem: of daemons that share a trigger, the one node of its workspace watches", async () => {
  for (const [nodes, watches] of [["", false], ["[a, b]", false], ["[b]", false], ["[a]", true]]) {
    await using at = await rigWith(files('"*"'));
    const { host } = at.rig;
    const [repo] = host.catalog.list("Workspace").filter(({ name }) => name === "repo");
    ok(repo !== undefined);
    const named = nodes === "" ? {} : { nodes: String(nodes).slice(1, -1).split(", ") };
    const resource = { ...repo, spec: Object.assign({}, repo.spec, named) };
    host.catalog.change([{ op: "put", resource }]);
    await using source = new FilesystemSource({ ...host, nodeName: "a" });
    const isUnclear = nodes === "" || nodes === "[a, b]";
    equal(/name the one node/.test(host.health.list().join()), isUnclear, String(nodes));
    if (!watches) {
      await systemClock.pause(50);
      equal(source.isReady(), false, String(nodes));
      continue;
    }
    await until("the first look", () => source.isReady() || undefined);
    await at.write("new", "1");
    deepEqual(await events(at.rig, 1), ["create new"]);
  }
});
